//! `unjank watch` explains stutters that are made here, and leaves nothing behind.
//!
//! Needs root and tracefs. Fails without them when `UNJANK_TEST_ALL=1`, otherwise says that it was
//! skipped.

#![expect(clippy::unwrap_used, reason = "the setup of a test may panic")]

mod watch_service;

use std::fs;
use std::io::Write as _;
use std::os::fd::OwnedFd;
use std::os::unix::fs::PermissionsExt as _;
use std::os::unix::fs::symlink;
use std::os::unix::net::UnixStream;
use std::process::{Command, Stdio};

use serde_json::Value;
use unjank_needs::attempts::until_ok;
use unjank_needs::printed::{stderr, stdout};
use unjank_needs::wait::until;
use watch_service::{Pair, SIGSTOP, STALLED, Service, instances, send, stall, stall_and_mark};

#[test]
fn a_stutter_is_explained_after_it_happened() {
    let Some(service) = Service::start(&[]) else { return };
    let mut pair = Pair::new();
    let found = stall_and_mark(&service, &mut pair);
    assert!(found.contains(" has the details") && found.contains("--incident-store "), "{found}");
    // Another one, noticed by a signal to the service. It is about the whole machine, where
    // something else may have taken longer than the two seconds.
    until_ok(|| {
        let kept = service.status()["incidents"].as_u64().unwrap();
        stall(&mut pair);
        send("-USR1", service.child.id());
        until("the incident is kept", || service.status()["incidents"] == kept + 1);
        let newest = service.listed().swap_remove(0);
        let is_longest = newest["length_ns"].as_f64().unwrap() > 2e9;
        let is_found = newest["cause"] == STALLED || is_longest;
        is_found.then_some(()).ok_or_else(|| newest.to_string())
    });
    stall_and_mark(&service, &mut pair);
    let listed = service.listed();
    assert!(listed.iter().all(|it| it["trigger"] == "mark"), "{listed:?}");
    let same: Vec<&Value> = listed.iter().filter(|it| it["cause"] == STALLED).collect();
    assert!(same.len() >= 2 && same.iter().all(|it| it["times"] == same.len()), "{listed:?}");
    let last = &listed[0];
    assert!(last["length_ns"].as_f64().unwrap() > 1.5e9, "{last}");

    let shown = service.incidents(&["show", "last", "--json"]);
    let shown: Value = serde_json::from_str(stdout(&shown)).unwrap();
    let reason = shown["verdicts"][0]["reason"].as_str().unwrap();
    let before = match same.len() - 1 {
        1 => "It happened once before".to_owned(),
        times => format!("It happened {times} times before"),
    };
    assert!(reason.contains(&before), "{reason}");
    let mut why = Command::new(unjank_needs::unjank!());
    why.args(["why", "--no-store", "--json", "--last", "--incident-store"]);
    let why = why.arg(service.path("watch.sqlite")).output().unwrap();
    let record: Value = serde_json::from_slice(&why.stdout).unwrap();
    let total = record["facts"].as_array().unwrap().iter();
    let total = total.clone().find(|fact| fact["name"] == "why/total").unwrap();
    assert_eq!(total["value"], last["length_ns"]);

    let trace = service.path("stutter.pftrace");
    let written = service.incidents(&["perfetto", "last", trace.to_str().unwrap()]);
    assert!(written.status.success(), "{}", stderr(&written));
    assert_eq!(fs::read(&trace).unwrap()[0], 0x0a, "a packet");
    for private in ["watch.sqlite", "watch.sqlite.incidents"] {
        let mode = fs::metadata(service.path(private)).unwrap().permissions().mode();
        assert_eq!(mode & 0o077, 0, "{private}");
    }
    let pruned = service.incidents(&["prune", "--most-kept", "1"]);
    assert_eq!(stdout(&pruned).trim(), format!("removed {} incidents", listed.len() - 1));
    assert_eq!(fs::read_dir(service.path("watch.sqlite.incidents")).unwrap().count(), 1);

    let process = service.child.id();
    let (ended_well, said) = service.end("-TERM");
    assert!(ended_well, "{said}");
    assert_eq!(instances(process), Vec::<String>::new());
}

#[test]
fn a_mark_can_be_about_one_process() {
    let Some(service) = Service::start(&[]) else { return };
    let (mut one, mut other) = (Pair::new(), Pair::new());
    let number = one.0.0.id().to_string();
    std::thread::scope(|scope| {
        scope.spawn(|| stall(&mut one));
        scope.spawn(|| stall(&mut other));
    });
    let nothing = service.asked(&["mark", "--process", "no-such-program"]);
    assert_eq!(nothing.status.code(), Some(5), "{}", stdout(&nothing));
    // The service takes one mark a second.
    std::thread::sleep(std::time::Duration::from_millis(1_100));
    let found = service.asked(&["mark", "--process", &number]);
    let found = stdout(&found);
    assert!(found.starts_with("cat was held up for ") && found.contains("stopped"), "{found}");
}

#[test]
fn a_program_that_marks_all_the_time_costs_no_more_than_the_budget() {
    let Some(service) = Service::start(&["--per-hour", "1", "--redact"]) else { return };
    let mut pair = Pair::new();
    stall(&mut pair);
    let found = service.mark();
    assert!(found.contains(": t-") && !found.contains("cat"), "hashes: {found}");
    for _ in 0..20 {
        let said = service.mark();
        let is_expected = ["not explained: ", "explained shortly before: t-"];
        assert!(is_expected.iter().any(|begin| said.starts_with(begin)), "{said}");
    }
    let status = service.status();
    assert_eq!((&status["incidents"], &status["left_out"]), (&1.into(), &20.into()));
    assert!(service.asked(&["watch", "pause"]).status.success());
    assert_eq!(service.status()["paused"], true);
    assert!(service.asked(&["watch", "resume"]).status.success());
    assert_eq!(service.status()["paused"], false);
    let shown = service.incidents(&["show"]);
    let shown = stdout(&shown);
    assert!(!shown.contains("cat ("), "{shown}");
    // However it ends, the trace instances are removed.
    let process = service.child.id();
    let (ended_well, _) = service.end("-KILL");
    assert!(!ended_well);
    until("its instances are removed", || instances(process).is_empty());
}

#[test]
fn a_launch_that_takes_longer_than_its_limit_is_explained() {
    let Some(service) = Service::start(&["--slow-launch", "fresh-app=1s"]) else { return };
    // A shell of another name.
    let shell = service.path("fresh-app");
    symlink("/bin/sh", &shell).unwrap();
    for launches in 1..=4 {
        let mut program = Command::new(&shell);
        program.args(["-c", "timeout 1.3 sh -c 'while :; do :; done'; read line"]);
        let mut program = program.stdin(Stdio::piped()).spawn().unwrap();
        until("the slow launch is kept", || service.status()["incidents"] == launches);
        program.kill().unwrap();
        program.wait().unwrap();
    }
    let listed = service.listed();
    assert!(listed.iter().all(|incident| incident["trigger"] == "slow launch"), "{listed:?}");
    let shown = service.incidents(&["show", "--json"]);
    let shown: Value = serde_json::from_str(stdout(&shown)).unwrap();
    let reason = shown["verdicts"][0]["reason"].as_str().unwrap();
    assert!(reason.starts_with("fresh-app took ") && reason.contains(" (usually "), "{reason}");
    let (ended_well, said) = service.end("-TERM");
    assert!(ended_well, "{said}");
}

#[test]
fn a_server_that_leaves_its_socket_unread_is_explained() {
    let Some(service) = Service::start(&["--silent", "still-server=1s"]) else { return };
    let shell = service.path("still-server");
    symlink("/bin/sh", &shell).unwrap();
    let (ours, theirs) = UnixStream::pair().unwrap();
    let mut server = Command::new(&shell);
    server.args(["-c", "while read line; do :; done"]);
    let mut server = server.stdin(OwnedFd::from(theirs)).spawn().unwrap();
    (&ours).write_all(b"read at once\n").unwrap();
    until("the service knows it", || service.status()["watched"] == 1);
    send(SIGSTOP, server.id());
    (&ours).write_all(b"not read\n").unwrap();
    until("the silent server is kept", || service.status()["incidents"] == 1);
    let listed = service.listed();
    let [incident] = listed.as_slice() else { panic!("{listed:?}") };
    assert_eq!(incident["trigger"], "silent server");
    assert_eq!(incident["cause"], "stopped by a signal");
    server.kill().unwrap();
    server.wait().unwrap();
}

#[test]
fn without_a_service_or_incidents_the_way_to_them_is_said() {
    let directory = tempfile::tempdir().unwrap();
    let socket = directory.path().join("none.sock");
    let mut mark = Command::new(unjank_needs::unjank!());
    let output = mark.arg("mark").arg("--socket").arg(&socket).output().unwrap();
    assert_eq!(output.status.code(), Some(3));
    assert!(stderr(&output).contains("sudo unjank watch starts one"), "{}", stderr(&output));
    let store = directory.path().join("none.sqlite");
    let mut list = Command::new(unjank_needs::unjank!());
    let output = list.args(["incidents", "list", "--store"]).arg(&store).output().unwrap();
    assert_eq!(output.status.code(), Some(3));
    assert!(stderr(&output).contains("sudo unjank watch keeps incidents there"));
    assert!(!store.exists());
}
