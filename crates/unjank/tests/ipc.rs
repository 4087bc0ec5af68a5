//! `unjank ipc`, its peer process, and signals to both.

mod disturbed;

use std::io::Write as _;
use std::os::unix::process::CommandExt as _;
use std::process::{Child, Command, Output, Stdio};
use std::thread;
use std::time::Duration;

use disturbed::left_out;
use serde_json::Value;
use unjank_host::process::send_signal;
use unjank_needs::wait::Process;

const SIGKILL: i32 = 9;

/// A probe over `transport` with one start, and its peer's process number.
fn probe(transport: &str) -> (Child, String) {
    let child = started(transport, &["--for", "1h", "--starts", "1"]);
    let unjank = Process(child.id());
    let peer = unjank.until_some("a peer is warm", || warm_peer(unjank));
    (child, peer.0.to_string())
}

/// The peer of the present start, once its warm-up of 100 calls is over: it sleeps before each
/// call.
fn warm_peer(unjank: Process) -> Option<Process> {
    let peer = unjank.find_child("repetition")?.find_child("\0peer\0")?;
    (peer.sleeps() >= 200).then_some(peer)
}

fn started(transport: &str, arguments: &[&str]) -> Child {
    Command::new(unjank_needs::unjank!())
        .args(["ipc", "probe", "--placement", "free", "--no-store"])
        .args(["--transport", transport])
        .args(arguments)
        .process_group(0)
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("unjank runs")
}

fn kill(signal: &str, target: &str) {
    let status = Command::new("kill").args([signal, "--", target]).status();
    assert!(status.is_ok_and(|status| status.success()));
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

fn end(child: Child) -> Output {
    child.wait_with_output().expect("it was started here")
}

#[test]
fn the_worst_calls_have_the_labels_of_their_series() {
    let output = Command::new(unjank_needs::unjank!())
        .args(["ipc", "probe", "--quick", "--transport", "unix,pipe", "--no-store", "--json"])
        .output()
        .expect("unjank runs");
    assert!(output.status.success(), "{}", text(&output.stderr));
    let record: Value = serde_json::from_slice(&output.stdout).expect("a record");
    let list = |name: &str| record[name].as_array().expect("a list").clone();
    let (series, outliers) = (list("series"), list("outliers"));
    assert_eq!(series.len(), outliers.len());
    for series in series {
        let is_its = |outlier: &&Value| {
            outlier["series"] == series["name"] && outlier["labels"] == series["labels"]
        };
        let worst = outliers.iter().find(is_its).expect("its worst call");
        assert_eq!(worst["value"], series["summary"]["max"]);
    }
}

#[test]
fn ctrl_c_reaches_the_probe_only_and_prints_what_is_known() {
    let (child, _) = probe("unix");
    kill("-INT", &format!("-{}", child.id()));
    let output = end(child);
    assert_eq!(output.status.code(), Some(130), "{}", text(&output.stderr));
    assert!(text(&output.stdout).contains("ipc/unix/round_trip"), "{}", text(&output.stdout));
}

#[test]
fn ctrl_c_ends_a_call_that_is_not_answered() {
    let (child, peer) = probe("pipe");
    kill("-STOP", &peer);
    kill("-INT", &child.id().to_string());
    let output = end(child);
    assert_eq!(output.status.code(), Some(130), "{}", text(&output.stderr));
    assert!(text(&output.stdout).contains("ipc/pipe/round_trip"), "{}", text(&output.stdout));
}

#[test]
fn a_peer_that_dies_or_stops_is_an_error() {
    let (child, peer) = probe("unix");
    kill("-KILL", &peer);
    let output = end(child);
    assert_eq!(output.status.code(), Some(1));
    let stderr = text(&output.stderr);
    assert!(stderr.contains("the peer over unix (which has ended)"), "{stderr}");

    let (child, peer) = probe("pipe");
    kill("-STOP", &peer);
    let output = end(child);
    assert_eq!(output.status.code(), Some(1));
    let stderr = text(&output.stderr);
    let reason = "no reply: it is stopped, or hangs\n";
    assert_eq!(stderr, format!("error: call failed for the peer over pipe: {reason}"));
}

#[test]
fn a_failed_start_is_reported_and_the_others_count() {
    let child = started("unix", &["--for", "10s", "--starts", "5"]);
    let unjank = Process(child.id());
    // On a busy machine, a start may end before its peer is found or killed.
    unjank.until_some("a peer is killed", || {
        warm_peer(unjank).filter(|peer| send_signal(peer.0, SIGKILL).is_ok())
    });
    let output = end(child);
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    let stdout = text(&output.stdout);
    let (before, _) = stdout.split_once(" starts failed: ").unwrap_or_else(|| panic!("{stdout}"));
    let (before, starts) = before.rsplit_once(' ').unwrap_or_else(|| panic!("{stdout}"));
    assert!(before.ends_with("calls: 1 of"), "{stdout}");
    let starts: usize = starts.parse().unwrap_or_else(|_| panic!("{stdout}"));
    assert!(starts >= 5, "{stdout}");
    let kept = starts - 1 - left_out(&stdout);
    assert!(stdout.contains(&format!("{kept} independent starts")), "{stdout}");
}

#[test]
fn a_server_is_not_killed_before_all_pairs_are_ready() {
    let task = serde_json::json!({
        "transport": "unix", "iterations": 3, "checks": 8,
        "deadline": 1_000_000, "callers": ["warm"], "priority": 10, "force": false,
        "inherit_rt": true, "raw": false, "tripwire": null,
    });
    let mut client = Command::new(unjank_needs::unjank!())
        .args(["ipc", "caller", &std::process::id().to_string()])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .expect("unjank runs");
    let mut orders = client.stdin.take().expect("a pipe");
    let prepare = serde_json::json!({ "prepare": task });
    writeln!(orders, "{prepare}").expect("the client lives");
    // Longer than a call may take before its server is killed.
    thread::sleep(Duration::from_millis(7_500));
    orders.write_all(b"\"begin\"\n").expect("the client lives");
    let output = end(client);
    let last = text(&output.stdout).lines().next_back().map(str::to_owned).expect("a report");
    let last: Value = serde_json::from_str(&last).expect("a message");
    assert_eq!(last["done"]["failure"], Value::Null, "{last}");
    assert_eq!(last["done"]["legs"][0]["series"]["n"], 3);
}

#[test]
fn a_quick_measurement_has_fewer_calls_and_the_same_answers() {
    let arguments = ["ipc", "latency", "--transport", "pipe", "--caller", "warm", "--quick"];
    let output = Command::new(unjank_needs::unjank!())
        .args(arguments)
        .args(["--json", "--no-store"])
        .output()
        .expect("unjank runs");
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    let record: Value = serde_json::from_slice(&output.stdout).expect("a record");
    assert_eq!(record["settings"]["count"], 500);
    let mut series = record["series"].as_array().expect("series").iter();
    let other = series.find(|series| series["name"] == "ipc/pipe/other/round_trip");
    let other = other.expect("ordinary calls");
    assert_eq!((&other["n"], &record["settings"]["starts"]), (&500.into(), &5.into()));
    // Each start has processes of its own, and so an interval over starts.
    let starts = other["repetitions"].as_array().expect("starts");
    assert!(starts.len() == 5 && starts.iter().all(|start| start["n"] == 100), "{other}");
    let mut verdicts = record["verdicts"].as_array().expect("verdicts").iter();
    let verdict = verdicts.find(|verdict| verdict["subject"] == "ipc").expect("a verdict");
    assert!(verdict["reason"].to_string().contains("5 independent starts"), "{verdict}");
    let twice = Command::new(unjank_needs::unjank!())
        .args(arguments)
        .args(["--count", "9"])
        .output()
        .expect("unjank runs");
    assert_eq!(twice.status.code(), Some(2), "both set the number of calls");
}

#[test]
fn ctrl_c_ends_a_comparison_with_perf_between_trials() {
    let child = Command::new(unjank_needs::unjank!())
        .args(["ipc", "bench", "--trial", "400ms", "--no-store"])
        .process_group(0)
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("unjank runs");
    // The first trial is one of perf's.
    Process(child.id()).until_it_handles(2);
    kill("-INT", &format!("-{}", child.id()));
    let output = end(child);
    assert_eq!(output.status.code(), Some(130), "{}", text(&output.stderr));
    assert!(text(&output.stdout).starts_with("unjank ipc bench"));
}

#[test]
fn a_peer_that_stops_ends_a_comparison() {
    let child = Command::new(unjank_needs::unjank!())
        .args(["ipc", "bench", "--trial", "900ms", "--no-store"])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("unjank runs");
    let peer = Process(child.id()).child("\0peer\0");
    kill("-STOP", &peer.0.to_string());
    let output = end(child);
    assert_eq!(output.status.code(), Some(1));
    assert!(text(&output.stderr).contains("no reply: it is stopped"), "{}", text(&output.stderr));
}
