//! `unjank record` writes traces that `unjank why FILE` and Perfetto's own classes read.
//!
//! Needs root and tracefs, and for one test perfetto of `PyPI` in a virtual environment under
//! `target`, which `make test` makes. Fails without them when `UNJANK_TEST_ALL=1`, otherwise says
//! that it was skipped.

#![expect(clippy::unwrap_used, reason = "the setup of a test may panic")]

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};

use serde_json::Value;
use unjank_needs::attempts::until_ok;
use unjank_needs::printed::stderr;
use unjank_needs::{copy_program, tracefs};

const MILLISECOND: f64 = 1e6;

fn directory() -> tempfile::TempDir {
    tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap()
}

fn record(options: &[&str], file: &Path, command: &[&str]) -> Output {
    let mut recorder = Command::new(unjank_needs::unjank!());
    recorder.arg("record").args(options).arg(file);
    if !command.is_empty() {
        recorder.arg("--").args(command);
    }
    recorder.output().unwrap()
}

/// Records a program that waits for 400 ms in a pipe, and returns its explanation. Tests that run
/// meanwhile have other names for theirs.
fn waiter(directory: &Path, options: &[&str], name: &str) -> Value {
    static WAITERS: AtomicU32 = AtomicU32::new(0);
    let called = format!("waiter-{}", WAITERS.fetch_add(1, Ordering::Relaxed));
    let program = directory.join(&called);
    copy_program("/bin/cat", &program);
    let file = directory.join(name);
    let script = format!("sleep 0.4 | {}", program.display());
    // A busy machine's recording may lack the exec of the program.
    let explained = until_ok(|| {
        let output = record(options, &file, &["sh", "-c", &script]);
        assert!(output.status.success(), "{}", stderr(&output));
        assert!(stderr(&output).contains(" events, "), "{}", stderr(&output));
        let mut why = Command::new(unjank_needs::unjank!());
        why.args(["why", "--no-store", "--json", "--process", &called]);
        let explained = why.arg(&file).output().unwrap();
        let is_explained = explained.status.success();
        if is_explained { Ok(explained) } else { Err(stderr(&explained).to_owned()) }
    });
    serde_json::from_slice(&explained.stdout).unwrap()
}

/// The time of the path by one of its labels, in milliseconds.
fn time(record: &Value, label: &str, value: &str) -> f64 {
    let facts = record["facts"].as_array().unwrap().iter();
    let own = facts.filter(|fact| fact["name"] == "why/time" && fact["labels"][label] == value);
    own.map(|fact| fact["value"].as_f64().unwrap() / MILLISECOND).sum()
}

#[test]
fn a_known_wait_is_explained_from_the_trace() {
    if !tracefs() {
        return;
    }
    let directory = directory();
    for name in ["trace.pftrace", "trace.pftrace.gz"] {
        // On a busy machine, the program may start when a part of the 400 ms is over.
        until_ok(|| {
            let explained = waiter(directory.path(), &[], name);
            let timer = time(&explained, "activity", "timer");
            let is_long = (350.0..=450.0).contains(&timer);
            is_long.then_some(()).ok_or_else(|| format!("{timer} ms: {}", explained["facts"]))
        });
    }
    let packed = fs::read(directory.path().join("trace.pftrace.gz")).unwrap();
    assert!(packed.starts_with(&[0x1f, 0x8b]));
}

#[test]
fn with_calls_the_wait_is_for_a_message() {
    if !tracefs() {
        return;
    }
    let directory = directory();
    // The ring buffer sometimes lacks a switch or a system call.
    until_ok(|| {
        let explained = waiter(directory.path(), &["--calls"], "calls.pftrace");
        let message = time(&explained, "way", "ipc") + time(&explained, "way", "child");
        (message > 300.0).then_some(()).ok_or_else(|| explained["facts"].to_string())
    });
}

#[test]
fn the_exit_code_is_the_command_s_and_its_output_is_its_own() {
    if !tracefs() {
        return;
    }
    let directory = directory();
    let file = directory.path().join("trace.pftrace");
    fs::write(&file, "an older file").unwrap();
    let output = record(&[], &file, &["sh", "-c", "echo said; exit 7"]);
    assert_eq!(output.status.code(), Some(7));
    assert_eq!(output.stdout, b"said\n");
    assert!(fs::metadata(&file).unwrap().len() > 1_000, "it replaces an older file");
    let output = record(&[], &file, &["sh", "-c", "kill -TERM $$"]);
    assert_eq!(output.status.code(), Some(128 + 15));
    // The recording ends before the command.
    let output = record(&["--for", "100ms"], &file, &["sh", "-c", "sleep 0.5; exit 3"]);
    assert_eq!(output.status.code(), Some(3));
    assert!(stderr(&output).starts_with("recorded 1"), "{}", stderr(&output));
    let output = record(&[], Path::new("-"), &["sh", "-c", "echo said"]);
    assert!(output.status.success());
    assert_eq!(output.stdout.first(), Some(&0x0a), "a trace, and nothing else");
    assert!(stderr(&output).starts_with("said\n"), "{}", stderr(&output));
    let output = record(&[], &file, &["/nonexistent/program"]);
    assert_eq!(output.status.code(), Some(2), "{}", stderr(&output));
}

#[test]
fn a_recording_ends_by_a_signal_a_time_or_a_size() {
    if !tracefs() {
        return;
    }
    let directory = directory();
    let file = directory.path().join("trace.pftrace");
    for (options, code) in [(&[][..], 0), (&["--for", "1h"], 130)] {
        let recorder = Command::new(unjank_needs::unjank!())
            .arg("record")
            .args(options)
            .arg(&file)
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        std::thread::sleep(std::time::Duration::from_millis(700));
        let signalled = Command::new("kill").arg("-INT").arg(recorder.id().to_string()).status();
        assert!(signalled.unwrap().success());
        let output = recorder.wait_with_output().unwrap();
        assert_eq!(output.status.code(), Some(code), "{}", stderr(&output));
        assert!(file.exists(), "what was recorded is kept");
        fs::remove_file(&file).unwrap();
    }
    let output = record(&["--for", "50ms"], &file, &[]);
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    let output = record(&["--for", "1h", "--max-size", "64KiB"], &file, &[]);
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    let said = stderr(&output);
    assert!(said.contains("warning: the trace had its largest size after "), "{said}");
}

#[test]
fn a_full_trace_grows_by_what_the_buffers_hold_at_most() {
    if !tracefs() {
        return;
    }
    let directory = directory();
    let file = directory.path().join("trace.pftrace");
    let busy = "dd if=/dev/zero of=/dev/null bs=1 count=1000000 2>/dev/null";
    let options = ["--calls", "--buffers", "1MiB", "--max-size", "64KiB"];
    let output = record(&options, &file, &["sh", "-c", busy]);
    assert!(output.status.success(), "{}", stderr(&output));
    let said = stderr(&output);
    assert!(said.contains("warning: the trace had its largest size after "), "{said}");
    let size = fs::metadata(&file).unwrap().len();
    assert!(size < 4 << 20, "{size} bytes, {said}");
}

#[test]
fn a_reader_that_leaves_is_an_error() {
    if !tracefs() {
        return;
    }
    let mut recorder = Command::new(unjank_needs::unjank!())
        .args(["record", "--for", "1h", "-"])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    drop(recorder.stdout.take());
    let output = recorder.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(1), "{}", stderr(&output));
    assert!(stderr(&output).contains("Broken pipe"), "{}", stderr(&output));
}

#[test]
fn lost_events_are_counted() {
    if !tracefs() {
        return;
    }
    let directory = directory();
    let file = directory.path().join("trace.pftrace");
    // A second of this causes more system calls than the smallest buffer has room for between two
    // reads.
    let busy = "dd if=/dev/zero of=/dev/null bs=1 count=1000000 2>/dev/null";
    let output = record(&["--calls", "--buffers", "1KiB"], &file, &["sh", "-c", busy]);
    assert!(output.status.success(), "{}", stderr(&output));
    assert!(stderr(&output).contains("warning: the kernel lost "), "{}", stderr(&output));
}

#[test]
fn perfetto_reads_the_trace_with_its_processes() {
    let Some(python) = python().filter(|_| tracefs()) else { return };
    let directory = directory();
    let explained = waiter(directory.path(), &["--calls"], "trace.pftrace");
    assert!(explained["facts"].as_array().unwrap().len() > 3);
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("../why/tests/perfetto/summary.py");
    let trace = directory.path().join("trace.pftrace");
    let output = Command::new(python).arg(script).arg(trace).output().unwrap();
    assert!(output.status.success(), "{}", stderr(&output));
    let summary: Value = serde_json::from_slice(&output.stdout).unwrap();
    let events = &summary["events"];
    for event in ["sched_switch", "sched_waking", "task_newtask", "sys_enter", "sys_exit"] {
        assert!(events[event].as_u64().unwrap() >= 3, "{event}: {events}");
    }
    let processes = summary["processes"].as_object().unwrap();
    assert_eq!(processes["2"]["kernel"], true, "kthreadd");
    let own = &processes[&std::process::id().to_string()];
    assert_eq!(own["kernel"], false);
    assert!(own["name"].as_str().unwrap().contains("needs_root_record"), "{own}");
    assert!(own["threads"].as_object().unwrap().len() > 1, "{own}");
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
