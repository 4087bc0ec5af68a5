//! The proc connector of the running kernel. Needs `CAP_NET_ADMIN`, and must not
//! be in a container.

#![expect(clippy::unwrap_used, reason = "what a test does to set itself up may panic")]
// A test says by printing why it was skipped.
#![allow(clippy::print_stdout)]

use std::process::Command;
use std::time::{Duration, Instant};

use unjank_host::process::connector::{EventKinds, ProcConnector, ProcessEvent};
use unjank_host::{Support, Timestamp};

fn listener(kinds: EventKinds) -> Option<ProcConnector> {
    match ProcConnector::listen(kinds).unwrap() {
        Support::Yes(events) => Some(events),
        Support::No(reason) => {
            unjank_needs::skip(format!("root: {reason}"));
            None
        }
    }
}

/// All events until `last` says that this is the last one.
fn until(events: &mut ProcConnector, last: impl Fn(&ProcessEvent) -> bool) -> Vec<ProcessEvent> {
    let mut seen = Vec::new();
    let patience = Instant::now() + Duration::from_secs(600);
    while !seen.iter().any(&last) {
        assert!(Instant::now() < patience, "{seen:?}");
        events.read(|event| seen.push(event)).unwrap();
        std::thread::sleep(Duration::from_millis(1));
    }
    seen
}

#[test]
fn fork_exec_and_exit_of_a_process_are_seen() {
    let Some(mut events) = listener(EventKinds::ALL) else { return };
    let before = Timestamp::now();
    let mut child = Command::new("true").spawn().unwrap();
    let number = child.id();
    child.wait().unwrap();
    let ended = |event: &ProcessEvent| matches!(event, ProcessEvent::Exit { process, .. } if *process == number);
    let seen = until(&mut events, ended);
    let times: Vec<Timestamp> = seen
        .iter()
        .filter_map(|event| match *event {
            ProcessEvent::Fork { parent, child, at } if child == number => {
                assert_eq!(parent, std::process::id());
                Some(at)
            }
            ProcessEvent::Exec { process, at } | ProcessEvent::Exit { process, at } => {
                (process == number).then_some(at)
            }
            ProcessEvent::Fork { .. } => None,
        })
        .collect();
    assert_eq!(times.len(), 3, "{seen:?}");
    assert!(before <= times[0] && times.is_sorted() && times[2] <= Timestamp::now());
    assert_eq!(events.lost(), 0);
}

#[test]
fn a_kernel_that_filters_sends_nothing_else() {
    let Some(mut events) = listener(EventKinds::EXEC) else { return };
    if !events.filters() {
        println!("skipped: this kernel does not filter");
        return;
    }
    let run = || {
        let mut child = Command::new("true").spawn().unwrap();
        child.wait().unwrap();
        child.id()
    };
    let is_exec = |number: u32| move |event: &ProcessEvent| matches!(event, ProcessEvent::Exec { process, .. } if *process == number);
    let first = run();
    let seen = until(&mut events, is_exec(first));
    assert!(seen.iter().all(|event| matches!(event, ProcessEvent::Exec { .. })), "{seen:?}");
    // Another kind can be asked for at any time.
    events.ask(EventKinds::ALL).unwrap();
    let second = run();
    let ended = |event: &ProcessEvent| matches!(event, ProcessEvent::Exit { process, .. } if *process == second);
    until(&mut events, ended);
    // And none at all, for a while.
    events.ask(EventKinds::NONE).unwrap();
    while events.read(drop).unwrap() {}
    run();
    events.read(|event| panic!("{event:?}")).unwrap();
    events.ask(EventKinds::EXEC).unwrap();
    until(&mut events, is_exec(run()));
}

#[test]
fn events_that_are_lost_are_counted() {
    let Some(mut events) = listener(EventKinds::ALL) else { return };
    // Each process is three events of about 1 KiB of the kernel's memory, and
    // the buffer holds 8 MiB of it.
    for _ in 0..16 {
        let script = "i=0; while [ $i -lt 400 ]; do (:); i=$((i+1)); done";
        assert!(Command::new("sh").args(["-c", script]).status().unwrap().success());
    }
    let mut seen = 0_u32;
    while events.read(|_| seen += 1).unwrap() {}
    assert!(events.lost() > 0, "{seen} events, and none was lost");
    // After a loss it goes on.
    let mut child = Command::new("true").spawn().unwrap();
    let number = child.id();
    child.wait().unwrap();
    let ended = |event: &ProcessEvent| matches!(event, ProcessEvent::Exit { process, .. } if *process == number);
    until(&mut events, ended);
}
