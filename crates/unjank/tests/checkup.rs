//! `unjank checkup` on the machine that runs the tests.

use std::fs;
use std::io::Read as _;
use std::process::{Command, Stdio};

use serde_json::Value;
use unjank_host::process::send_signal;
use unjank_needs::attempts::until_ok;
use unjank_needs::wait::{Process, until, until_some};

const SIGSTOP: i32 = 19;

fn unjank() -> Command {
    Command::new(unjank_needs::unjank!())
}

/// The series on which the verdict of each row rests, with a label if several series have its
/// name.
const HEADLINES: [(&str, Option<(&str, &str)>); 5] = [
    ("launch/ramp/time_to_full", None),
    ("swap/page_in", None),
    ("jitter/native/other/wakeup", None),
    ("lock/park_wake", None),
    ("ipc/unix/round_trip", Some(("placement", "two-cpus"))),
];

/// Whether a very busy machine did not get to measuring this.
fn was_too_slow(verdict: &Value) -> bool {
    let reason = verdict["reason"].as_str();
    reason.is_some_and(|reason| reason.starts_with("the machine was too slow"))
}

#[test]
fn five_delays_are_measured_and_the_record_is_valid() {
    let output = unjank()
        .args(["checkup", "--quick", "--json", "--no-store", "--seed", "7"])
        .output()
        .unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let record: Value = serde_json::from_slice(&output.stdout).unwrap();

    let verdicts = record["verdicts"].as_array().unwrap();
    let subjects: Vec<&str> = verdicts.iter().filter_map(|v| v["subject"].as_str()).collect();
    assert_eq!(subjects, ["launch", "swap", "jitter", "lock", "ipc"]);
    for verdict in verdicts.iter().filter(|verdict| !was_too_slow(verdict)) {
        assert!(verdict["measured"]["value"].is_number(), "{verdict}");
        assert_ne!(verdict["answer"], "not_available", "{verdict}");
    }
    assert_eq!(record["settings"]["seed"], 7);
    let schema = include_str!("../../../docs/run.schema.json");
    let schema = jsonschema::validator_for(&serde_json::from_str(schema).unwrap()).unwrap();
    let errors: Vec<String> = schema.iter_errors(&record).map(|error| error.to_string()).collect();
    assert!(errors.is_empty(), "{errors:#?}");

    // Each judged series has enough independent starts for an interval. On a very busy
    // machine, most starts are left out.
    let too_slow = |warning: &Value| {
        let text = warning.as_str().unwrap();
        text.contains("were left out") || text.contains("did not end in time")
    };
    if record["warnings"].as_array().unwrap().iter().any(too_slow) {
        return;
    }
    let series = record["series"].as_array().unwrap();
    for (name, label) in HEADLINES {
        let judged = |it: &&Value| {
            let labelled = label.is_none_or(|(key, value)| it["labels"][key] == value);
            it["name"] == name && it["labels"]["cpu"].is_null() && labelled
        };
        let judged = series.iter().find(judged).unwrap_or_else(|| panic!("{name}"));
        let starts = judged["repetitions"].as_array().map_or(0, Vec::len);
        assert!(starts >= 4, "{name}: {starts} starts");
    }
}

#[test]
fn only_what_was_asked_for_is_measured() {
    let output = unjank()
        .args(["checkup", "--quick", "--only", "lock", "--json", "--no-store"])
        .output()
        .unwrap();
    let record: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(record["verdicts"].as_array().unwrap().len(), 1);
    let foreign = |series: &&Value| !series["name"].as_str().unwrap().starts_with("lock/");
    assert_eq!(record["series"].as_array().unwrap().iter().find(foreign), None);
}

#[test]
fn a_launch_that_hangs_is_killed_to_keep_the_time_limit() {
    until_ok(|| {
        let child = unjank()
            .args(["checkup", "--quick", "--only", "launch", "--json", "--no-store"])
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let checkup = Process(child.id());
        // On a busy machine, a launch may end before it is found or stopped.
        let stopped = checkup.until_some("a launch is stopped", || {
            checkup.find_child("repetition").filter(|&launch| stops(launch))
        });
        let output = child.wait_with_output().unwrap();
        let record: Value = serde_json::from_slice(&output.stdout).unwrap();
        assert!(record["elapsed"].as_u64().unwrap() <= 15_000_000_000, "{}", record["elapsed"]);
        let warnings = record["warnings"].as_array().unwrap();
        let killed = |warning: &Value| {
            let text = warning.as_str().unwrap();
            text.contains("launch: 1 of ") && text.contains(" starts did not end in time")
        };
        // The checkup kills it, but does not wait for its end.
        until("the stopped launch is gone", || !stopped.is_alive());
        // It may have reported before it was stopped.
        warnings.iter().any(killed).then_some(()).ok_or_else(|| format!("{warnings:#?}"))
    });
}

/// Stops a process, unless it ends before.
fn stops(process: Process) -> bool {
    let state = || {
        let stat = fs::read_to_string(format!("/proc/{}/stat", process.0)).unwrap_or_default();
        stat.rsplit(") ").next().and_then(|rest| rest.chars().next())
    };
    send_signal(process.0, SIGSTOP).is_ok()
        && until_some("it stops or ends", || match state() {
            Some('T') => Some(true),
            None | Some('Z' | 'X') => Some(false),
            Some(_) => None,
        })
}

#[test]
fn a_store_that_stays_busy_does_not_hold_a_run_up() {
    let directory = tempfile::tempdir().unwrap();
    let store = directory.path().join("runs.sqlite");
    let run = || {
        let mut checkup = unjank();
        checkup.args(["checkup", "--quick", "--only", "lock", "--json", "--store"]).arg(&store);
        checkup.output().unwrap()
    };
    assert!(run().status.success());
    let stored = || {
        let arguments = ["runs", "list", "--json", "--store"];
        let listed = unjank().args(arguments).arg(&store).output().unwrap();
        let listed: Value = serde_json::from_slice(&listed.stdout).unwrap();
        listed.as_array().unwrap().len()
    };
    assert_eq!(stored(), 1);
    let writer = rusqlite::Connection::open(&store).unwrap();
    writer.execute_batch("BEGIN EXCLUSIVE").unwrap();
    let output = run();
    let record: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(record["command"], "checkup");
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(!output.status.success() && said.contains("measured, but not stored"), "{said}");
    drop(writer);
    assert_eq!(stored(), 1);
}

#[test]
fn an_interrupt_prints_what_is_known() {
    let mut child = unjank()
        .args(["checkup", "--only", "lock", "--full", "--all", "--no-store"])
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    // The first start reports before it ends.
    let first = Process(child.id()).child("repetition");
    until("the first start ends", || !first.is_alive());
    let interrupt = Command::new("kill").args(["-INT", &child.id().to_string()]).status().unwrap();
    assert!(interrupt.success());
    let mut printed = String::new();
    child.stdout.take().unwrap().read_to_string(&mut printed).unwrap();
    assert_eq!(child.wait().unwrap().code(), Some(130));
    assert!(printed.contains("lock/yield/round_trip"), "{printed}");
    assert!(printed.contains("interrupted"), "{printed}");
}
