//! The proc connector of the running kernel. Needs `CAP_NET_ADMIN`, and must not
//! be in a container.

#![expect(clippy::unwrap_used, reason = "the setup of a test may panic")]
// Tests print why they are skipped.
#![allow(clippy::print_stdout)]

use std::process::Command;

use unjank_host::process::connector::{EventKinds, ProcConnector, ProcessEvent};
use unjank_host::{Support, Timestamp};
use unjank_needs::wait::{until, until_some};

fn listener(kinds: EventKinds) -> Option<ProcConnector> {
    match ProcConnector::listen(kinds).unwrap() {
        Support::Yes(events) => Some(events),
        Support::No(reason) => {
            unjank_needs::skip(format!("root: {reason}"));
            None
        }
    }
}

/// Runs a program to its end, and returns its number.
fn run() -> u32 {
    let mut child = Command::new("true").spawn().unwrap();
    child.wait().unwrap();
    child.id()
}

/// Runs a program, and returns its number and all events until its `last` one. The events of the
/// whole machine share a buffer: if some were lost, another program is run.
fn seen_run(
    events: &mut ProcConnector,
    last: fn(&ProcessEvent) -> Option<u32>,
) -> (u32, Vec<ProcessEvent>) {
    until_some("no event is lost", || {
        let (lost_before, number, mut seen) = (events.lost(), run(), Vec::new());
        until("the last event is seen", || {
            events.read(|event| seen.push(event)).unwrap();
            events.lost() > lost_before || seen.iter().any(|event| last(event) == Some(number))
        });
        (events.lost() == lost_before).then_some((number, seen))
    })
}

fn exec_of(event: &ProcessEvent) -> Option<u32> {
    if let ProcessEvent::Exec { process, .. } = *event { Some(process) } else { None }
}

fn exit_of(event: &ProcessEvent) -> Option<u32> {
    if let ProcessEvent::Exit { process, .. } = *event { Some(process) } else { None }
}

#[test]
fn fork_exec_and_exit_of_a_process_are_seen() {
    let Some(mut events) = listener(EventKinds::ALL) else { return };
    let before = Timestamp::now();
    let (number, seen) = seen_run(&mut events, exit_of);
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
}

#[test]
fn a_kernel_that_filters_sends_nothing_else() {
    let Some(mut events) = listener(EventKinds::EXEC) else { return };
    if !events.filters() {
        println!("skipped: this kernel does not filter");
        return;
    }
    let (_, seen) = seen_run(&mut events, exec_of);
    assert!(seen.iter().all(|event| matches!(event, ProcessEvent::Exec { .. })), "{seen:?}");
    // Another kind can be asked for at any time.
    events.ask(EventKinds::ALL).unwrap();
    seen_run(&mut events, exit_of);
    // And none at all, for a while.
    events.ask(EventKinds::NONE).unwrap();
    while events.read(drop).unwrap() {}
    run();
    events.read(|event| panic!("{event:?}")).unwrap();
    events.ask(EventKinds::EXEC).unwrap();
    seen_run(&mut events, exec_of);
}

#[test]
fn events_that_are_lost_are_counted() {
    let Some(mut events) = listener(EventKinds::ALL) else { return };
    // Each process causes three events, each of which takes about 1 KiB of the
    // kernel's memory. The buffer holds 8 MiB.
    for _ in 0..16 {
        let script = "i=0; while [ $i -lt 400 ]; do (:); i=$((i+1)); done";
        assert!(Command::new("sh").args(["-c", script]).status().unwrap().success());
    }
    let mut seen = 0_u32;
    while events.read(|_| seen += 1).unwrap() {}
    assert!(events.lost() > 0, "{seen} events, and none was lost");
    // After a loss it goes on.
    seen_run(&mut events, exit_of);
}
