//! `unjank lock doctor`: its output and its errors.

use std::os::unix::process::CommandExt as _;
use std::process::{Child, Command, Output};

use serde_json::Value;
use unjank_needs::wait::{Process, until};

/// A process, killed when dropped.
struct Watched(Child);

impl Drop for Watched {
    fn drop(&mut self) {
        let _gone = self.0.kill();
        let _status = self.0.wait();
    }
}

fn doctor(process: u32, arguments: &[&str]) -> Output {
    Command::new(unjank_needs::unjank!())
        .args(["lock", "doctor", &process.to_string(), "--no-store"])
        .args(arguments)
        .output()
        .expect("unjank runs")
}

#[test]
fn a_program_that_sleeps_wastes_nothing() {
    let sleeper = Watched(Command::new("sleep").arg("600").spawn().expect("sleep is everywhere"));
    let output = doctor(sleeper.0.id(), &["--quick", "--json"]);
    assert_eq!(output.status.code(), Some(0));
    let record: Value = serde_json::from_slice(&output.stdout).expect("a record");
    assert_eq!(record["command"], "lock doctor");
    // Without root, system calls may be invisible, so a lock shared with other processes cannot
    // be excluded.
    let untraced = record["unsupported"].as_array().expect("a list").iter();
    let untraced = untraced.filter_map(|missing| missing["what"].as_str());
    let untraced = untraced.into_iter().any(|what| what.starts_with("system calls"));
    let answer = if untraced { "cannot_tell" } else { "yes" };
    assert_eq!(record["verdicts"][0]["answer"], answer, "{}", record["verdicts"]);
    assert_eq!(record["settings"]["process"], sleeper.0.id());
    let facts = record["facts"].as_array().expect("facts");
    let threads = facts.iter().find(|fact| fact["name"] == "lock/doctor/threads");
    assert_eq!(threads.expect("it is counted")["value"], 1.0);
}

#[test]
fn a_hostile_name_does_nothing() {
    let dir = tempfile::tempdir().expect("a directory");
    let name = "\u{1b}[2J\nx\u{202e}";
    let program = dir.path().join(name);
    unjank_needs::copy_program("/bin/sleep", &program);
    let sleeper = Command::new(&program).arg0(name).arg("600").spawn();
    let sleeper = Watched(sleeper.expect("a copy runs as well"));
    let page = dir.path().join("x.html");
    let page = page.to_str().expect("a temporary name is UTF-8");
    let output = doctor(sleeper.0.id(), &["--quick", "--html", page]);
    let text = String::from_utf8(output.stdout).expect("UTF-8");
    assert!(text.contains("\\u{1b}[2J\\nx"), "{text}");
    assert!(!text.contains('\u{1b}') && !text.contains('\u{202e}'), "{text:?}");
    let html = std::fs::read_to_string(page).expect("it was written");
    assert!(!html.contains('\u{1b}') && !html.contains('\u{202e}'));
}

#[test]
fn a_process_that_cannot_be_watched_is_a_usage_error() {
    // Process ids are below 2^22 (`PID_MAX_LIMIT`).
    let output = doctor(1 << 23, &[]);
    assert_eq!(output.status.code(), Some(2));
    assert_eq!(String::from_utf8_lossy(&output.stderr), "error: no such process: 8388608\n");
    let output = doctor(std::process::id(), &["--for", "1ms"]);
    assert_eq!(output.status.code(), Some(2));
    let ended = Watched(Command::new("true").spawn().expect("true is everywhere"));
    until("it has ended", || !Process(ended.0.id()).is_alive());
    let output = doctor(ended.0.id(), &["--quick"]);
    assert_eq!(output.status.code(), Some(2), "it waits for its parent only");
    let error = format!("error: process {} has ended\n", ended.0.id());
    assert_eq!(String::from_utf8_lossy(&output.stderr), error);
}

#[test]
fn ctrl_c_prints_what_was_seen() {
    let sleeper = Watched(Command::new("sleep").arg("600").spawn().expect("sleep is everywhere"));
    let child = Command::new(unjank_needs::unjank!())
        .args(["lock", "doctor", &sleeper.0.id().to_string(), "--for", "9h", "--no-store"])
        .stdout(std::process::Stdio::piped())
        .spawn()
        .expect("unjank runs");
    // It sleeps between windows, and as root in each.
    Process(child.id()).until_it_has_slept(400);
    let sent = Command::new("kill").args(["-INT", &child.id().to_string()]).status();
    assert!(sent.is_ok_and(|status| status.success()));
    let output = child.wait_with_output().expect("it ends");
    assert_eq!(output.status.code(), Some(130));
    let text = String::from_utf8(output.stdout).expect("UTF-8");
    let question =
        format!("Do the threads of process {} (sleep) wait without waste?", sleeper.0.id());
    for said in ["unjank lock doctor [interrupted]", &question, "0 of its 1 threads"] {
        assert!(text.contains(said), "{said}: {text}");
    }
}
