//! `unjank why --prove`: a change is predicted, applied and measured, and the outcome is kept.
//!
//! Fails without root when `UNJANK_TEST_ALL=1`, otherwise says that it was skipped. Nothing here
//! asserts how much a change saves: that is measured by `make bench`.

#![expect(clippy::unwrap_used, reason = "the setup of a test may panic")]

mod known;

use std::fs;
use std::path::Path;
use std::process::{Command, Output};

use known::Known;
use serde_json::Value;

const AUTOGROUPS: &str = "/proc/sys/kernel/sched_autogroup_enabled";

fn why(arguments: &[&str], command: &[String]) -> Output {
    let mut unjank = Command::new(unjank_needs::unjank!());
    unjank.arg("why").args(arguments);
    if !command.is_empty() {
        unjank.arg("--").args(command);
    }
    unjank.output().unwrap()
}

fn record(output: &Output) -> Value {
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(0), "{stderr}");
    serde_json::from_slice(&output.stdout).unwrap()
}

fn facts<'a>(record: &'a Value, name: &'a str) -> impl Iterator<Item = &'a Value> {
    record["facts"].as_array().unwrap().iter().filter(move |fact| fact["name"] == name)
}

fn rows<'a>(record: &'a Value, name: &str) -> &'a [Value] {
    let mut tables = record["tables"].as_array().unwrap().iter();
    tables.find(|table| table["name"] == name).unwrap()["rows"].as_array().unwrap()
}

#[test]
fn a_change_is_predicted_and_measured_and_the_outcome_is_kept() {
    if !unjank_needs::root() {
        return;
    }
    let _turn = unjank_needs::turns::autogroups();
    let known = Known::new();
    let store = known.file("runs.sqlite");
    let before = fs::read_to_string(AUTOGROUPS).ok();
    let prove = ["--json", "--store", &store, "--gap", "1ms", "-n", "4", "--pairs", "6"];
    let with = |change: &'static str| [&prove[..], &[change]].concat();

    let first = record(&why(&with("--prove=cpu"), &known.command("hog", &[])));
    assert_eq!(fs::read_to_string(AUTOGROUPS).ok(), before, "put back");
    let verdict = &first["verdicts"][0];
    assert_eq!(verdict["subject"], "why/prove");
    assert!(["yes", "no", "cannot_tell"].contains(&verdict["answer"].as_str().unwrap()));
    for fact in facts(&first, "why/prove/predicted").chain(facts(&first, "why/prove/measured")) {
        assert_eq!(fact["labels"]["change"], "cpu");
    }
    let find = |name: &str| first["facts"].as_array().unwrap().iter().find(|it| it["name"] == name);
    let fact = |name: &str| find(name).unwrap().clone();
    let value = |value: &Value| value.as_f64().unwrap();
    let measured = fact("why/prove/measured");
    let [low, high] = [0, 1].map(|end| value(&measured["interval"][end]));
    assert!(low <= value(&measured["value"]) && value(&measured["value"]) <= high, "{measured}");
    // Two to five launches, of which some may differ, have a range and no interval.
    let names = ["/least", "", "/most"].map(|end| format!("why/prove/predicted{end}"));
    assert!(names.each_ref().map(|name| value(&fact(name)["value"])).is_sorted());
    assert!(fact(&names[1])["interval"].is_null());
    assert_eq!(rows(&first, "why/proof").len(), 3);
    let changed = first["changes"].as_array().unwrap();
    assert_eq!(changed.iter().any(|change| change["knob"] == AUTOGROUPS), before.is_some());

    let file = known.file("pages");
    let cold = record(&why(&with("--prove=cache"), &known.command("fault", &[&file])));
    assert_eq!(facts(&cold, "why/prove/measured").next().unwrap()["labels"]["change"], "cache");

    let read = record(&why(&["--calibration", "--json", "--store", &store], &[]));
    let outcomes = rows(&read, "why/calibration");
    let tried: Vec<&Value> = outcomes.iter().map(|row| &row[2]).collect();
    assert_eq!(tried, ["cache", "cpu"], "the newest first");
    assert!(Path::new(outcomes[1][1].as_str().unwrap()).ends_with("hog"));
    let decided = facts(&read, "why/calibration/outcomes").next().unwrap();
    // On a busy machine, six pairs may decide nothing.
    let held = outcomes.iter().filter(|row| row[6] != "cannot tell").count();
    assert_eq!(decided["value"], held as f64, "{outcomes:?}");
    let list = Command::new(unjank_needs::unjank!())
        .args(["runs", "list", "--json", "--store", &store])
        .output()
        .unwrap();
    let list: Value = serde_json::from_slice(&list.stdout).unwrap();
    assert_eq!(list.as_array().unwrap().len(), 2, "the calibration is not a run: {list}");

    let mut of_phone = cold;
    of_phone["id"] = "20261124T190000-abcdef".into();
    of_phone["host"]["kernel"]["release"] = "4.14.113".into();
    let file = known.file("phone.json");
    fs::write(&file, of_phone.to_string()).unwrap();
    let import = ["runs", "import", &file, "--store", &store];
    let output = Command::new(unjank_needs::unjank!()).args(import).output().unwrap();
    assert!(output.status.success(), "{output:?}");
    let read = record(&why(&["--calibration", "--json", "--store", &store], &[]));
    assert_eq!(rows(&read, "why/calibration").len(), 2, "that was another machine");
}

#[test]
fn a_condition_of_the_user_stands_for_the_change() {
    if !unjank_needs::root() {
        return;
    }
    let known = Known::new();
    let store = known.file("runs.sqlite");
    let prove = ["--json", "--store", &store, "--gap", "1ms", "-n", "3", "--pairs", "3"];
    let by = [&prove[..], &["--prove=cpu", "--by", "rt=fifo:1"]].concat();
    let proved = record(&why(&by, &known.command("compute", &[])));
    assert_eq!(proved["settings"]["by"], "rt=fifo:1");
    let measured = facts(&proved, "why/prove/measured").next().unwrap();
    assert_eq!(measured["labels"]["change"], "cpu");
    assert_eq!(measured["labels"]["by"], "rt=fifo:1");
    let reason = proved["verdicts"][0]["reason"].as_str().unwrap();
    assert!(reason.contains("; under rt=fifo:1, it changed by "), "{reason}");

    let read = record(&why(&["--calibration", "--json", "--store", &store], &[]));
    let outcome = &rows(&read, "why/calibration")[0];
    assert_eq!([&outcome[2], &outcome[3]], ["cpu", "rt=fifo:1"]);
    let counted = facts(&read, "why/calibration/outcomes").next().unwrap();
    assert_eq!(counted["value"], 0.0, "another means: {counted}");
}

#[test]
fn a_wrong_condition_is_refused_before_any_launch() {
    if !unjank_needs::root() {
        return;
    }
    let directory = tempfile::tempdir().unwrap();
    let began = directory.path().join("began").display().to_string();
    let command = ["touch".to_owned(), began.clone()];
    for (change, by, says) in [
        ("--prove", "boost", "--by boost: name the change"),
        ("--prove=cpu", "rt=fifo:0", "rt=fifo:0: expected fifo:N or rr:N"),
        ("--prove=cache", "cold", "--by cold: launches without the change"),
        ("--prove=servers", "faster", "unknown condition \"faster\""),
    ] {
        let output = why(&["--no-store", change, "--by", by], &command);
        let stderr = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{stderr}");
        assert!(stderr.contains(says), "{stderr}");
    }
    assert!(!Path::new(&began).exists());
}

#[test]
fn a_server_of_another_program_runs_first_and_is_put_back() {
    if !unjank_needs::root() {
        return;
    }
    let _turn = unjank_needs::turns::autogroups();
    let known = Known::new();
    let socket = known.file("socket");
    let server = known.server(&socket);
    let prove = ["--json", "--no-store", "--gap", "1ms", "-n", "3", "--pairs", "3"];
    let of_server = [&prove[..], &["--prove=servers"]].concat();
    let asked = record(&why(&of_server, &known.command("ask", &[&socket])));
    let measured = facts(&asked, "why/prove/measured").next().unwrap();
    assert_eq!(measured["labels"]["change"], "servers");
    let predicted = facts(&asked, "why/prove/predicted").next().unwrap();
    assert!(predicted["value"].as_f64().unwrap() < 0.0, "it shares its CPU: {predicted}");
    assert_eq!(rows(&asked, "why/proof")[2][3]["value"], 3.0, "three pairs");
    let status = fs::read_to_string(format!("/proc/{}/stat", server.id())).unwrap();
    let nice = status.rsplit_once(')').unwrap().1.split_whitespace().nth(16).unwrap();
    assert_eq!(nice, "0", "put back");

    // A program without servers is explained, and the change is not available.
    let alone = record(&why(&of_server, &known.command("compute", &[])));
    assert!(facts(&alone, "why/prove/measured").next().is_none());
    let mut missing = alone["unsupported"].as_array().unwrap().iter();
    let missing = missing.find(|missing| missing["what"] == "why/prove").unwrap();
    assert!(missing["reason"].as_str().unwrap().contains("no other program"), "{missing}");
}

#[test]
fn a_change_that_this_machine_cannot_make_is_refused_before_any_launch() {
    if !unjank_needs::root() || Path::new("/sys/devices/system/cpu/cpufreq/policy0").exists() {
        return;
    }
    let directory = tempfile::tempdir().unwrap();
    let began = directory.path().join("began").display().to_string();
    let command = ["touch".to_owned(), began.clone()];
    let output = why(&["--no-store", "--prove=clock"], &command);
    assert_eq!(output.status.code(), Some(3));
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert!(stderr.contains("no cpufreq"), "{stderr}");
    assert!(!Path::new(&began).exists());
    let wrong = why(&["--no-store", "--prove=locks"], &command);
    assert_eq!(wrong.status.code(), Some(2));
    assert!(
        String::from_utf8_lossy(&wrong.stderr)
            .contains("expected cpu, servers, cache, swap, clock, sections or best")
    );
}
