//! `unjank why` writes the launch for other tools.
//!
//! Fails without root when `UNJANK_TEST_ALL=1`, otherwise says that it was skipped.

#![expect(clippy::unwrap_used, reason = "the setup of a test may panic")]

use std::path::{Path, PathBuf};
use std::process::Command;

use assert_cmd::assert::OutputAssertExt as _;
use serde_json::Value;
use unjank_needs::attempts::until_ok;

const COMMAND: &[&str] = &["sh", "-c", "sleep 0.6 | cat; ls / | sort"];

fn why(options: &[&str]) -> Value {
    let output = Command::new(unjank_needs::unjank!())
        .args(["why", "--no-store", "--json"])
        .args(options)
        .arg("--")
        .args(COMMAND)
        .assert()
        .success();
    serde_json::from_slice(&output.get_output().stdout).unwrap()
}

fn total(record: &Value) -> u64 {
    let mut facts = record["facts"].as_array().unwrap().iter();
    facts.find(|fact| fact["name"] == "why/total").unwrap()["value"].as_f64().unwrap() as u64
}

#[test]
fn a_perfetto_trace_has_the_path_of_the_launch() {
    let Some(python) = python().filter(|_| unjank_needs::root()) else { return };
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("launch.pftrace");
    let record = why(&["--perfetto", file.to_str().unwrap()]);
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("../why/tests/perfetto/summary.py");
    let output = Command::new(python).arg(script).arg(&file).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let summary: Value = serde_json::from_slice(&output.stdout).unwrap();
    let events = &summary["events"];
    for event in ["sched_switch", "sched_waking", "task_newtask", "sys_enter"] {
        assert!(events[event].as_u64().unwrap() >= 4, "{event}: {events}");
    }
    let tracks = summary["tracks"].as_array().unwrap();
    let path = tracks.iter().find(|track| track["name"] == "path").unwrap();
    let lengths = path["slices"].as_array().unwrap().iter();
    let length = |slice: &Value| slice["to"].as_u64().unwrap() - slice["from"].as_u64().unwrap();
    assert_eq!(lengths.map(length).sum::<u64>(), total(&record));
    assert!(tracks.len() >= 5, "a lane for the shell and for a child: {tracks:?}");
}

#[test]
fn folded_stacks_add_up_to_the_launch() {
    if !unjank_needs::root() {
        return;
    }
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("launch.folded");
    let weight = |line: &str| line.rsplit_once(' ').unwrap().1.parse::<u64>().unwrap();
    // The ring buffer sometimes lacks a switch or a system call.
    until_ok(|| {
        let record = why(&["--folded", file.to_str().unwrap()]);
        let text = std::fs::read_to_string(&file).unwrap();
        assert_eq!(text.lines().map(weight).sum::<u64>(), total(&record), "{text}");
        let mut timers = text.lines().filter(|line| line.contains(";timer;sleep ("));
        let is_there = timers.any(|timer| timer.contains(";clock_nanosleep;"));
        is_there.then_some(()).ok_or(text)
    });
}

#[test]
fn a_file_that_cannot_be_written_is_an_error_before_the_launch() {
    let directory = tempfile::tempdir().unwrap();
    let launched = directory.path().join("launched");
    for option in ["--perfetto", "--folded"] {
        let output = Command::new(unjank_needs::unjank!())
            .args(["why", "--no-store", option, "/nonexistent/file", "--", "touch"])
            .arg(&launched)
            .output()
            .unwrap();
        let stderr = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{stderr}");
        assert!(stderr.contains("/nonexistent/file"), "{stderr}");
        assert!(!launched.exists());
    }
}

fn python() -> Option<PathBuf> {
    let target = Path::new(env!("CARGO_TARGET_TMPDIR")).parent()?;
    let python = target.join("perfetto-0.59.1/bin/python");
    if python.exists() {
        return Some(python);
    }
    unjank_needs::skip(format!("{}; `make test` installs it", python.display()));
    None
}
