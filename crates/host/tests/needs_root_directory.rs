//! A private tracefs instance of the running machine, whether or not tracefs
//! is mounted, and its removal when its owner is killed. The owner and the
//! keeper are this test program itself, started again.

// Tests print why they are skipped.
#![allow(clippy::print_stdout)]
#![expect(clippy::unwrap_used, reason = "the setup of a test may panic")]

use std::fs::File;
use std::io::{BufRead as _, BufReader, Read as _};
use std::os::fd::AsFd as _;
use std::path::Path;
use std::process::{Command, Stdio};

use rustix::fs::{Mode, OFlags, openat};
use unjank_host::journal::{Directory, Session};
use unjank_host::keeper;
use unjank_host::process::HelperCommand;
use unjank_host::{Error, Root};

const ROLE: &str = "UNJANK_TEST_ROLE";
const STATE_DIR: &str = "UNJANK_TEST_STATE_DIR";

fn is_role(role: &str) -> bool {
    std::env::var(ROLE).as_deref() == Ok(role)
}

/// The command that starts this program again, with only the test `role`, which
/// then acts in that role.
fn this_program_as(role: &str) -> [String; 5] {
    let program = std::env::current_exe().unwrap().to_str().unwrap().to_owned();
    [format!("{ROLE}={role}"), program, role.to_owned(), "--exact".into(), "--nocapture".into()]
}

fn session(state_dir: &Path) -> Session {
    let keeper = HelperCommand::new("/usr/bin/env", this_program_as("keeper_role"));
    Session::open(&Root::system(), state_dir, keeper).unwrap()
}

fn read(directory: &Directory, name: &str) -> String {
    let flags = OFlags::RDONLY | OFlags::CLOEXEC;
    let file = openat(directory.open().unwrap(), name, flags, Mode::empty()).unwrap();
    let mut text = String::new();
    File::from(file).read_to_string(&mut text).unwrap();
    text.trim_end().to_owned()
}

fn instance(name: &str) -> String {
    format!("/sys/kernel/tracing/instances/unjank-test-{name}")
}

#[test]
fn an_instance_is_there_for_as_long_as_its_guard() {
    if !unjank_needs::tracefs() {
        return;
    }
    let dir = tempfile::tempdir().unwrap();
    let session = session(&dir.path().join("state"));
    let path = instance("guard");
    let made = session.make_directory(&path).unwrap();
    assert_eq!(read(&made, "tracing_on"), "1");
    let second = session.make_directory(&path).unwrap_err();
    assert!(matches!(second, Error::Busy(_)), "{second}");
    drop(made);
    // It is gone, so it can be made again.
    drop(session.make_directory(&path).unwrap());
    let reports = session.finish();
    assert_eq!(reports.len(), 2);
    assert!(reports.iter().all(|report| report.after.as_deref() == Some("not there")));
}

#[test]
fn an_instance_is_removed_when_its_owner_is_killed() {
    if !unjank_needs::tracefs() {
        return;
    }
    let dir = tempfile::tempdir().unwrap();
    let state_dir = dir.path().join("state");
    let mut owner = Command::new("/usr/bin/env")
        .args(this_program_as("owner"))
        .env(STATE_DIR, &state_dir)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut lines = BufReader::new(owner.stdout.take().unwrap()).lines();
    let made = lines.by_ref().map_while(Result::ok).any(|line| line.ends_with("it is made"));
    owner.kill().unwrap();
    owner.wait().unwrap();
    assert!(made);
    // Taking the same path waits for the keeper, if it is still at work.
    let session = session(&state_dir);
    let again = session.make_directory(instance("kill")).unwrap();
    assert_eq!(read(&again, "tracing_on"), "1");
}

#[test]
fn owner() {
    if !is_role("owner") {
        return;
    }
    let state_dir = std::env::var_os(STATE_DIR).unwrap();
    let session = session(Path::new(&state_dir));
    let Ok(made) = session.make_directory(instance("kill")) else { return };
    // An open file in it, which keeps it busy until the kernel closes it.
    let flags = OFlags::RDONLY | OFlags::CLOEXEC;
    let _busy = openat(made.open().unwrap(), "trace_pipe", flags, Mode::empty()).unwrap();
    println!("it is made");
    loop {
        std::thread::park();
    }
}

#[test]
fn keeper_role() {
    if is_role("keeper_role") {
        keeper::run(std::io::stdin().as_fd().try_clone_to_owned().unwrap()).unwrap();
    }
}
