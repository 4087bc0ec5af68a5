//! Measurements without privileges, and the reasons that they report for missing results.
//!
//! Needs root, to become another user. Fails without it when
//! `UNJANK_TEST_ALL=1`, otherwise says that it was skipped.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::PathBuf;
use std::process::Command;

use serde_json::Value;

/// Runs unjank as nobody, without capabilities; returns the record and the exit code.
fn as_nobody(arguments: &[&str]) -> (Value, Option<i32>) {
    // The build directory need not be open to others.
    let dir = tempfile::tempdir_in("/tmp").expect("a temporary directory");
    fs::set_permissions(dir.path(), fs::Permissions::from_mode(0o755)).expect("own directory");
    let program: PathBuf = dir.path().join("unjank");
    unjank_needs::copy_program(unjank_needs::unjank!(), &program);
    let output = Command::new("setpriv")
        .args(["--reuid=65534", "--regid=65534", "--clear-groups"])
        .args(["--inh-caps=-all", "--bounding-set=-all"])
        .arg(&program)
        .args(arguments)
        .args(["--json", "--no-store"])
        .env_remove("HOME")
        .env_remove("XDG_CACHE_HOME")
        .output()
        .expect("setpriv is in util-linux");
    let stderr = String::from_utf8_lossy(&output.stderr).into_owned();
    let record = serde_json::from_slice(&output.stdout);
    (record.unwrap_or_else(|error| panic!("{error}: {stderr}")), output.status.code())
}

fn reason<'a>(record: &'a Value, what: &str) -> Option<&'a str> {
    let unsupported = record["unsupported"].as_array().expect("a list");
    unsupported.iter().find(|missing| missing["what"] == what)?["reason"].as_str()
}

#[test]
fn without_privilege_a_checkup_measures_the_rest() {
    if !unjank_needs::root() {
        return;
    }
    let (record, code) = as_nobody(&["checkup", "--quick", "--only", "swap,jitter,lock"]);
    assert_eq!(code, Some(0));
    for verdict in record["verdicts"].as_array().expect("a list") {
        // A very busy machine may not get to measuring one of them.
        let was_too_slow = verdict["reason"]
            .as_str()
            .is_some_and(|reason| reason.starts_with("the machine was too slow"));
        assert!(verdict["measured"]["value"].is_number() || was_too_slow, "{verdict}");
    }
    let missing = reason(&record, "jitter/native/fifo/wakeup").expect("no SCHED_FIFO for nobody");
    assert!(missing.contains("CAP_SYS_NICE"), "{missing}");
}

#[test]
fn without_privilege_the_cause_is_not_available() {
    if !unjank_needs::root() {
        return;
    }
    let (record, code) = as_nobody(&["jitter", "native", "--quick", "--sched", "other", "--trace"]);
    assert_eq!(code, Some(0));
    assert!(record["series"][0]["n"].as_u64().is_some_and(|n| n > 0));
    let missing = reason(&record, "jitter/native cause").expect("no tracing for nobody");
    assert!(missing.contains("CAP_SYS_ADMIN"), "{missing}");
}

#[test]
fn a_run_that_can_measure_nothing_fails_with_the_reason() {
    if !unjank_needs::root() {
        return;
    }
    let (record, code) = as_nobody(&["jitter", "native", "--quick", "--sched", "fifo"]);
    assert_eq!(code, Some(3));
    assert!(reason(&record, "jitter/native/fifo/wakeup").is_some(), "{record}");
}

#[test]
fn root_learns_the_cause_of_late_wakeups_and_nothing_stays_behind() {
    if !unjank_needs::root() {
        return;
    }
    let dir = tempfile::tempdir().expect("a temporary directory");
    let file = dir.path().join("late.txt");
    let output = Command::new(unjank_needs::unjank!())
        .args(["jitter", "native", "--sched", "other", "--for", "2s", "--break-above", "1us"])
        .args(["--json", "--no-store", "--trace-file"])
        .arg(&file)
        .output()
        .expect("unjank runs");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let record: Value = serde_json::from_slice(&output.stdout).expect("a record");
    let outliers = record["outliers"].as_array().expect("a list");
    assert!(outliers.iter().any(|outlier| outlier["cause"].is_string()), "{outliers:?}");
    let trace = fs::read_to_string(&file).expect("the trace was kept");
    assert!(trace.contains("unjank: woken"), "{trace}");
    assert!(trace.contains("sched_switch"), "{trace}");
}

#[test]
fn a_trace_file_that_cannot_be_written_is_refused_at_once() {
    if !unjank_needs::root() {
        return;
    }
    for file in ["/dev/full", "/nowhere/late.txt"] {
        let output = Command::new(unjank_needs::unjank!())
            .args(["ipc", "latency", "--transport", "pipe", "--json", "--no-store"])
            .args(["--trace", "--trace-file", file])
            .output()
            .expect("unjank runs");
        assert_eq!(output.status.code(), Some(2), "{file}");
        assert!(output.stdout.is_empty(), "{file}: something was measured");
        assert!(String::from_utf8_lossy(&output.stderr).contains(file));
    }
}

#[test]
fn a_trace_that_does_not_fit_on_disk_loses_no_figures() {
    if !unjank_needs::root() {
        return;
    }
    let dir = tempfile::tempdir().expect("a temporary directory");
    let script = "mount -t tmpfs -o size=4k none $D
        dd if=/dev/zero of=$D/fill bs=4k 2>/dev/null || true
        exec $U ipc latency --transport pipe --deadline 1ns --json --no-store --trace --trace-file $D/late.txt";
    let output = Command::new("unshare")
        .args(["--mount", "sh", "-ec", script])
        .env("U", unjank_needs::unjank!())
        .env("D", dir.path())
        .output()
        .expect("unshare is in util-linux");
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(1), "{stderr}");
    let record: Value = serde_json::from_slice(&output.stdout).expect("a record");
    assert_eq!(record["series"][0]["n"], 1);
    assert!(record["outliers"][0]["cause"].is_string(), "{record}");
    let warnings = record["warnings"].as_array().expect("a list");
    let of_trace = warnings.iter().filter_map(Value::as_str).find(|w| w.contains("not kept"));
    assert!(of_trace.is_some_and(|warning| warning.contains("late.txt")), "{warnings:?}");
}

#[test]
fn calls_started_at_real_time_priority_or_niced_are_labelled_correctly() {
    if !unjank_needs::root() {
        return;
    }
    for starter in [&["chrt", "-f", "10"][..], &["nice", "-n", "5"]] {
        let output = Command::new(starter[0])
            .args(&starter[1..])
            .arg(unjank_needs::unjank!())
            .args(["ipc", "latency", "--transport", "unix", "--count", "20"])
            .args(["--json", "--no-store"])
            .output()
            .expect("chrt and nice are everywhere");
        let record: Value = serde_json::from_slice(&output.stdout).expect("a record");
        let facts = record["facts"].as_array().expect("a list");
        // A socket passes on neither policy; the server keeps its own from its start.
        for what in ["ipc/unix/inherited/real_time", "ipc/unix/inherited/nice"] {
            let fact = facts.iter().find(|fact| fact["name"] == what).expect(what);
            assert_eq!(fact["value"], 0.0, "{starter:?} {what}");
            assert_eq!(fact["n"], 16, "{starter:?} {what}");
        }
    }
}
