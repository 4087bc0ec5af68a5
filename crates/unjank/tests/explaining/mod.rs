//! Runs `unjank why`, and reads its record.

// No test file uses all of it.
#![allow(dead_code)]
#![allow(clippy::unwrap_used)]

use std::path::PathBuf;
use std::process::{Child, Command, Output, Stdio};

use serde_json::Value;
use unjank_needs::attempts::until_ok;

pub(crate) const MILLISECOND: u64 = 1_000_000;

/// A running program. Dropping this kills it.
pub(crate) struct Running(pub(crate) Child);

impl Running {
    pub(crate) fn start(command: &mut Command) -> Self {
        Self(command.stdin(Stdio::null()).spawn().unwrap())
    }

    pub(crate) fn id(&self) -> String {
        self.0.id().to_string()
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        let _ended = self.0.kill();
        let _reaped = self.0.wait();
    }
}

/// One of the programs in `known`, compiled.
pub(crate) fn compiled(name: &str) -> (tempfile::TempDir, PathBuf) {
    let directory = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    let program = directory.path().join(name);
    let source = format!("{}/tests/known/{name}.c", env!("CARGO_MANIFEST_DIR"));
    let compiled =
        Command::new("cc").arg(source).arg("-o").arg(&program).arg("-lpthread").status().unwrap();
    assert!(compiled.success());
    (directory, program)
}

pub(crate) fn why(options: &[&str]) -> Command {
    let mut command = Command::new(unjank_needs::unjank!());
    command.args(["why", "--no-store", "--json"]).args(options);
    command
}

pub(crate) fn record(output: &Output, code: i32) -> Value {
    let said = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(code), "{said}");
    serde_json::from_slice(&output.stdout).unwrap()
}

pub(crate) fn explained(options: &[&str]) -> Value {
    record(&why(options).output().unwrap(), 0)
}

/// As [`explained`], repeated until at least `least` ns are waits for the thread's own timers and
/// at most 2 % are unknown: the ring buffer sometimes lacks a switch or a system call.
pub(crate) fn sleeper_explained(options: &[&str], least: u64) -> Value {
    until_ok(|| {
        let record = explained(options);
        let is_known = unknown(&record) * 50 <= total(&record);
        let is_explained = is_known && of(&record, "own", "timer") >= least;
        if is_explained { Ok(record) } else { Err(record["facts"].to_string()) }
    })
}

pub(crate) fn facts<'a>(record: &'a Value, name: &'a str) -> impl Iterator<Item = &'a Value> {
    record["facts"].as_array().unwrap().iter().filter(move |fact| fact["name"] == name)
}

pub(crate) fn total(record: &Value) -> u64 {
    facts(record, "why/total").next().unwrap()["value"].as_f64().unwrap() as u64
}

/// The time of a way and an activity. All of them add up to the whole.
pub(crate) fn of(record: &Value, way: &str, activity: &str) -> u64 {
    let value = |fact: &Value| fact["value"].as_f64().unwrap() as u64;
    let all: u64 = facts(record, "why/time").map(value).sum();
    assert_eq!(all, total(record), "every nanosecond has one cause");
    let labels =
        |fact: &&Value| fact["labels"]["way"] == way && fact["labels"]["activity"] == activity;
    facts(record, "why/time").find(labels).map_or(0, value)
}

pub(crate) fn unknown(record: &Value) -> u64 {
    let unknown = |fact: &&Value| fact["labels"]["activity"] == "unknown";
    let unknown = facts(record, "why/time").filter(unknown);
    unknown.map(|fact| fact["value"].as_f64().unwrap() as u64).sum()
}

pub(crate) fn warnings(record: &Value) -> String {
    record["warnings"].to_string()
}
