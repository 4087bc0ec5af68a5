//! The threads and processes that a launched process started, as far as they are
//! in a trace.

use std::collections::BTreeMap;

use unjank_host::Timestamp;
use unjank_host::sched::ThreadId;
use unjank_host::tracefs::{Event, EventKind, StorageEvent, SystemCall, Trace};

/// The numbers of system calls on this architecture.
#[allow(clippy::unnecessary_cast, reason = "c_long has 32 bits on some machines")]
const EXIT: i64 = libc::SYS_exit as i64;
#[allow(clippy::unnecessary_cast, reason = "c_long has 32 bits on some machines")]
const EXIT_GROUP: i64 = libc::SYS_exit_group as i64;

/// A process and all that it started, by thread.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Family {
    threads: BTreeMap<ThreadId, Member>,
    first: ThreadId,
    /// Whether the first thread called `exit(2)`, which ends a thread without its process.
    first_left: bool,
    /// The thread that ended the first process by `exit_group(2)`.
    ended_by: Option<ThreadId>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Member {
    of_first_process: bool,
    ended: Option<Timestamp>,
}

impl Family {
    /// The family of `process`, from all events up to `until`.
    pub fn of(trace: &Trace, process: ThreadId, until: Timestamp) -> Self {
        let events = trace.cpus.iter().flat_map(|cpu| &cpu.events);
        let mut events: Vec<Event> =
            events.filter(|event| event.at <= until && matters(&event.kind)).collect();
        events.sort_by_key(|event| event.at);
        let first = Member { of_first_process: true, ended: None };
        let mut threads = BTreeMap::from([(process, first)]);
        let (mut first_left, mut ended_by) = (false, None);
        for event in events {
            match event.kind {
                EventKind::Storage(StorageEvent::Started { thread, same_process }) => {
                    if let Some(parent) = threads.get(&event.current) {
                        let of_first_process = parent.of_first_process && same_process;
                        threads.insert(thread, Member { of_first_process, ended: None });
                    }
                }
                // The others of its process have ended, and it has the id of the first.
                EventKind::Storage(StorageEvent::Executed { process: of, before, .. }) => {
                    if let Some(executes) = threads.get_mut(&before) {
                        executes.ended = Some(event.at);
                        let of_first_process = executes.of_first_process;
                        threads.insert(of, Member { of_first_process, ended: None });
                        first_left &= of != process;
                    }
                }
                EventKind::Storage(StorageEvent::Ended { thread, .. }) => {
                    if let Some(member) = threads.get_mut(&thread) {
                        member.ended = Some(event.at);
                    }
                }
                EventKind::SystemCall(SystemCall::Begins { number, .. }) if number == EXIT => {
                    first_left |= event.current == process;
                }
                EventKind::SystemCall(SystemCall::Begins { .. }) => {
                    let caller = threads.get(&event.current);
                    let caller = caller.filter(|caller| caller.of_first_process);
                    ended_by = ended_by.or(caller.map(|_| event.current));
                }
                _ => {}
            }
        }
        Self { threads, first: process, first_left, ended_by }
    }

    /// Whether a thread belongs to it.
    pub fn contains(&self, thread: ThreadId) -> bool {
        self.threads.contains_key(&thread)
    }

    /// When a thread of the family ended; `None` if it did not.
    pub fn end_of(&self, thread: ThreadId) -> Option<Timestamp> {
        self.threads.get(&thread)?.ended
    }

    /// The thread whose end is the end of the first process: the one that called
    /// `exit_group(2)`; without it, the first one, or, if that called `exit(2)`
    /// before, the last one. `None` if the first thread ended and others run on.
    pub fn last_of_process(&self) -> Option<ThreadId> {
        if self.ended_by.is_some() {
            return self.ended_by;
        }
        if !self.first_has_left() {
            return Some(self.first);
        }
        let of_process = || self.threads.iter().filter(|(_, member)| member.of_first_process);
        if of_process().any(|(_, member)| member.ended.is_none()) {
            return None;
        }
        of_process().max_by_key(|(_, member)| member.ended).map(|(thread, _)| *thread)
    }

    /// Whether the first thread ended by itself, before the process.
    pub fn first_has_left(&self) -> bool {
        self.first_left && self.end_of(self.first).is_some()
    }

    /// The number of threads of other processes of the family that did not end.
    pub fn running_elsewhere(&self) -> usize {
        let others = self.threads.values().filter(|member| !member.of_first_process);
        others.filter(|member| member.ended.is_none()).count()
    }
}

fn matters(kind: &EventKind) -> bool {
    match kind {
        EventKind::Storage(StorageEvent::Executed { process, before, .. }) => process != before,
        EventKind::Storage(event) => {
            matches!(event, StorageEvent::Started { .. } | StorageEvent::Ended { .. })
        }
        EventKind::SystemCall(SystemCall::Begins { number, .. }) => {
            matches!(*number, EXIT | EXIT_GROUP)
        }
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use unjank_host::tracefs::Context;
    use unjank_host::tracefs::script::{Script, at};

    use super::*;

    fn starts(script: Script, nanos: u64, parent: u32, thread: u32, same_process: bool) -> Script {
        let event = StorageEvent::Started { thread: ThreadId(thread), same_process };
        let script = script.runs(0, nanos - 1, 0, parent);
        script.happens(0, nanos, Context::Thread, EventKind::Storage(event))
    }

    fn ends(script: Script, nanos: u64, thread: u32) -> Script {
        let event = StorageEvent::Ended { thread: ThreadId(thread), last: None };
        let script = script.runs(1, nanos - 1, 0, thread);
        script.happens(1, nanos, Context::Thread, EventKind::Storage(event))
    }

    fn calls(script: Script, nanos: u64, thread: u32, number: i64) -> Script {
        let call = SystemCall::Begins { number, arguments: [0; 6] };
        let script = script.runs(2, nanos - 1, 0, thread);
        script.happens(2, nanos, Context::Thread, EventKind::SystemCall(call))
    }

    fn of(script: &Script) -> Family {
        Family::of(&script.trace(), ThreadId(7), at(1_000))
    }

    #[test]
    fn a_process_ends_with_its_last_thread() {
        let alone = ends(Script::new(), 50, 7);
        assert_eq!(of(&alone).last_of_process(), Some(ThreadId(7)));
        assert_eq!(of(&Script::new()).last_of_process(), Some(ThreadId(7)), "it still runs");
        let threads = starts(starts(Script::new(), 10, 7, 21, true), 20, 21, 22, true);
        let killed = ends(ends(threads.clone(), 100, 7), 101, 21);
        assert_eq!(of(&killed).last_of_process(), Some(ThreadId(7)), "it ended with its process");
        let ended = calls(threads.clone(), 95, 22, EXIT_GROUP);
        let ended = ends(ends(ended, 100, 7), 101, 22);
        assert_eq!(of(&ended).last_of_process(), Some(ThreadId(22)), "the first one slept");
        assert!(!of(&ended).first_has_left());
        let threads = ends(calls(threads, 90, 7, EXIT), 100, 7);
        assert!(of(&threads).first_has_left());
        assert_eq!(of(&threads).last_of_process(), None, "others go on");
        let exits = calls(threads.clone(), 290, 22, EXIT_GROUP);
        assert_eq!(of(&exits).last_of_process(), Some(ThreadId(22)));
        let threads = ends(ends(threads, 300, 22), 400, 21);
        assert_eq!(of(&threads).last_of_process(), Some(ThreadId(21)));
        assert_eq!(of(&threads).end_of(ThreadId(22)), Some(at(300)));
        assert_eq!(of(&threads).running_elsewhere(), 0);
    }

    fn executes(script: Script, nanos: u64, thread: u32, process: u32) -> Script {
        let [process, before] = [process, thread].map(ThreadId);
        let event = StorageEvent::Executed { process, before, program: "x".into() };
        let script = script.runs(0, nanos - 1, 0, process.0);
        script.happens(0, nanos, Context::Thread, EventKind::Storage(event))
    }

    #[test]
    fn a_thread_that_executes_a_program_goes_on_as_the_first_of_its_process() {
        // 7 starts the process 21, whose thread 22 executes a program.
        let threads = starts(starts(Script::new(), 10, 7, 21, false), 20, 21, 22, true);
        let other = executes(ends(threads, 40, 21), 50, 22, 21);
        assert_eq!(of(&other).running_elsewhere(), 1);
        assert_eq!(of(&ends(other, 300, 21)).running_elsewhere(), 0);
        // In the first process, whose first thread had left it before.
        let threads = calls(starts(Script::new(), 10, 7, 21, true), 20, 7, EXIT);
        let own = executes(ends(threads, 40, 7), 50, 21, 7);
        assert!(!of(&own).first_has_left());
        assert_eq!(of(&own).end_of(ThreadId(7)), None);
        assert_eq!(of(&own).last_of_process(), Some(ThreadId(7)));
        assert_eq!(of(&ends(own, 300, 7)).end_of(ThreadId(7)), Some(at(300)));
    }

    #[test]
    fn a_daemon_runs_on_elsewhere() {
        let daemon = starts(starts(Script::new(), 10, 7, 21, false), 20, 21, 22, true);
        let daemon = ends(starts(daemon, 30, 9, 23, false), 100, 7);
        assert_eq!(of(&daemon).last_of_process(), Some(ThreadId(7)));
        assert_eq!(of(&daemon).running_elsewhere(), 2, "a stranger's child is none of it");
        assert_eq!(of(&ends(daemon, 300, 22)).running_elsewhere(), 1);
    }
}
