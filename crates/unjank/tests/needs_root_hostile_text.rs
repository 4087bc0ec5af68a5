//! Names of threads and programs in the output and the logs of commands that root runs.
//!
//! Needs root. Fails without it when `UNJANK_TEST_ALL=1`, otherwise says that it
//! was skipped.

mod boosted;
mod hostile;

use std::fs;
use std::os::unix::process::CommandExt as _;
use std::process::Command;

use boosted::{Phone, until};
use hostile::{ESCAPE, Planted, check, check_both, unjank};

#[test]
fn changes_of_policies_are_printed_in_single_lines() {
    if !unjank_needs::root() {
        return;
    }
    let planted = Planted::start();
    let (id, dir) = (planted.id(), tempfile::tempdir().unwrap());
    let state = dir.path().join("state");
    let place = ["--state-dir", state.to_str().unwrap()];
    let rules = ["--thread", "*=batch:3", "--keep"];
    let set = unjank(&[&["rt", "set", &id][..], &rules, &place].concat());
    assert!(set.status.success(), "{set:?}");
    check_both(&set, "rt set");
    check_both(&unjank(&["rt", "list", &id]), "rt list");
    let restore = [&["rt", "restore"][..], &place].concat();
    check_both(&unjank(&[&restore[..], &["--dry-run"]].concat()), "rt restore --dry-run");
    check_both(&unjank(&[&restore[..], &["--json", "--dry-run"]].concat()), "rt restore --json");
    check_both(&unjank(&restore), "rt restore");
}

#[test]
fn the_doctor_names_threads_in_single_lines() {
    if !unjank_needs::root() {
        return;
    }
    let planted = Planted::start();
    let output = unjank(&["lock", "doctor", &planted.id(), "--for", "500ms", "--no-store"]);
    for stream in [&output.stdout, &output.stderr] {
        check(&String::from_utf8_lossy(stream), "lock doctor");
    }
}

#[test]
fn the_service_logs_launches_in_single_lines() {
    if !unjank_needs::root() || !boosted::sees_starts() {
        return;
    }
    let phone = Phone::new();
    let app = phone.path(&format!("app{ESCAPE}"));
    unjank_needs::copy_program("/bin/sh", &app);
    let pattern = phone.app();
    let rules = format!("[launch]\nexecutables = [\"{}*\"]\n", pattern.display());
    fs::write(phone.path("boost.toml"), rules).unwrap();
    let _service = phone.boost(&[]);
    let mut launched = Command::new(&app);
    launched.args(["-c", "read x"]).process_group(0);
    let mut launched = launched.stdin(std::process::Stdio::piped()).spawn().unwrap();
    let socket = phone.path("socket");
    let status = || unjank(&["launch", "boost", "status", "--socket", socket.to_str().unwrap()]);
    let log = || fs::read_to_string(phone.path("log")).unwrap();
    until("the launch is logged", || log().contains("FORGED"));
    check(&log(), "the log");
    for stream in [status().stdout, status().stderr] {
        check(&String::from_utf8(stream).unwrap(), "boost status");
    }
    launched.kill().unwrap();
    launched.wait().unwrap();
}
