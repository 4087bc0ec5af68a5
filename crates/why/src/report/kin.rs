//! The threads of an explained program, and of all that it started.

use std::collections::BTreeSet;

use unjank_host::Timestamp;
use unjank_host::sched::ThreadId;
use unjank_host::tracefs::{EventKind, SystemCall, Trace};

use crate::history::History;

/// The threads of a launch that `thread` belongs to: its earliest ancestor that was born in the
/// trace, and all descendants of that ancestor.
pub(super) fn of_launch(history: &History, thread: ThreadId, to: Timestamp) -> BTreeSet<ThreadId> {
    let mut first = thread;
    let mut at = to;
    while let Some(birth) = history.life(first, at).and_then(|life| life.birth) {
        // A parent that was not born in the trace is the launcher, and not part of the launch.
        let parent = history.life(birth.parent, birth.at);
        if birth.at >= at || birth.parent == first || parent.is_none_or(|it| it.birth.is_none()) {
            break;
        }
        (first, at) = (birth.parent, birth.at);
    }
    with_descendants(history, [first, thread].into())
}

/// The threads of a process that ran before the trace: those whose system calls
/// were recorded, and what they started.
pub(super) fn of_running(
    trace: &Trace,
    history: &History,
    thread: ThreadId,
    to: Timestamp,
) -> BTreeSet<ThreadId> {
    let mut family = of_launch(history, thread, to);
    let events = trace.cpus.iter().flat_map(|cpu| &cpu.events);
    let calls = events
        .filter(|event| matches!(event.kind, EventKind::SystemCall(SystemCall::Begins { .. })));
    family.extend(calls.map(|event| event.current));
    with_descendants(history, family)
}

fn with_descendants(history: &History, mut family: BTreeSet<ThreadId>) -> BTreeSet<ThreadId> {
    let births = history.lives().filter_map(|(thread, life)| Some((thread, life.birth?)));
    let mut births: Vec<_> = births.collect();
    births.sort_by_key(|(thread, birth)| (birth.at, thread.0));
    for (thread, birth) in births {
        if family.contains(&birth.parent) {
            family.insert(thread);
        }
    }
    family
}

#[cfg(test)]
mod tests {
    use unjank_host::tracefs::script::{Script, at};
    use unjank_host::tracefs::{Context, StorageEvent};

    use super::*;

    fn starts(script: Script, nanos: u64, parent: u32, thread: u32) -> Script {
        let started = StorageEvent::Started { thread: ThreadId(thread), same_process: false };
        script
            .runs(0, nanos - 1, 0, parent)
            .happens(0, nanos, Context::Thread, EventKind::Storage(started))
            .runs(1, nanos + 1, 0, thread)
            .sleeps(1, nanos + 2, thread, 0)
    }

    fn numbers(family: &BTreeSet<ThreadId>) -> Vec<u32> {
        family.iter().map(|thread| thread.0).collect()
    }

    #[test]
    fn a_launch_is_its_first_process_and_all_that_it_started() {
        // unjank (3) starts 7, which starts 21, which starts 22; 9 starts 23.
        let script = starts(Script::new(), 10, 3, 7);
        let script = starts(starts(starts(script, 20, 7, 21), 30, 21, 22), 40, 9, 23);
        let history = History::of(&script.trace());
        let family = of_launch(&history, ThreadId(7), at(100));
        assert_eq!(numbers(&family), [7, 21, 22]);
        let from_a_child = of_launch(&history, ThreadId(22), at(100));
        assert_eq!(from_a_child, family);
    }

    #[test]
    fn a_running_program_is_the_threads_that_were_recorded() {
        let call = EventKind::SystemCall(SystemCall::Begins { number: 1, arguments: [0; 6] });
        let script = starts(Script::new(), 10, 8, 21);
        let script = script.runs(2, 50, 0, 8).happens(2, 51, Context::Thread, call);
        let trace = script.trace();
        let family = of_running(&trace, &History::of(&trace), ThreadId(7), at(100));
        assert_eq!(numbers(&family), [7, 8, 21]);
    }
}
