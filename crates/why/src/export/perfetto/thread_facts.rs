//! What messages of events need to know of threads besides the event itself.

use std::collections::HashMap;

use foldhash::fast::RandomState;
use unjank_host::sched::ThreadId;
use unjank_host::tracefs::{Comm, Event, EventKind, StorageEvent};
use unjank_host::{Nanos, Timestamp};

use crate::history::History;

/// Names and ends of threads.
pub(super) trait ThreadFacts {
    /// The name of a thread.
    fn name(&self, thread: ThreadId) -> Option<Comm>;
    /// Whether a thread that leaves its CPU at this moment has ended.
    fn has_ended(&self, thread: ThreadId, at: Timestamp) -> bool;
}

impl ThreadFacts for History {
    fn name(&self, thread: ThreadId) -> Option<Comm> {
        History::name(self, thread)
    }

    fn has_ended(&self, thread: ThreadId, at: Timestamp) -> bool {
        let end = self.life(thread, at).and_then(|life| life.end);
        end.is_some_and(|end| end <= at)
    }
}

/// The threads that were seen so far, for a trace that is written while it is recorded.
#[derive(Debug, Default)]
pub(super) struct SeenThreads {
    names: HashMap<ThreadId, Comm, RandomState>,
    ended: HashMap<ThreadId, Timestamp, RandomState>,
}

/// When more threads have ended than this, those are forgotten that ended before [`RECENT`].
const MANY: usize = 1 << 16;
/// The time in which the last switch of an ended thread is certainly written.
const RECENT: Nanos = Nanos::from_millis(1_000);

impl SeenThreads {
    /// Adds the facts of an event about its threads.
    pub(super) fn see(&mut self, event: &Event) {
        match event.kind {
            EventKind::Switch { next: task, .. }
            | EventKind::Waking { task, .. }
            | EventKind::Wakeup { task, .. } => {
                self.names.insert(task.tid, task.comm);
            }
            EventKind::Storage(StorageEvent::Started { thread, .. }) => {
                // It has the name of the thread that started it.
                if let Some(&name) = self.names.get(&event.current) {
                    self.names.insert(thread, name);
                }
                if self.ended.get(&thread).is_some_and(|end| *end < event.at) {
                    self.ended.remove(&thread);
                }
            }
            EventKind::Storage(StorageEvent::Executed { process, program, .. }) => {
                self.names.insert(process, program);
            }
            EventKind::Storage(StorageEvent::Ended { thread, .. }) => {
                self.ended.insert(thread, event.at);
                if self.ended.len() > MANY {
                    self.forget(event.at);
                }
            }
            _ => {}
        }
    }

    fn forget(&mut self, now: Timestamp) {
        let Self { names, ended } = self;
        ended.retain(|thread, end| {
            let is_recent = now.since(*end) < RECENT;
            if !is_recent {
                names.remove(thread);
            }
            is_recent
        });
    }
}

impl ThreadFacts for SeenThreads {
    fn name(&self, thread: ThreadId) -> Option<Comm> {
        self.names.get(&thread).copied()
    }

    fn has_ended(&self, thread: ThreadId, at: Timestamp) -> bool {
        self.ended.get(&thread).is_some_and(|end| *end <= at)
    }
}

#[cfg(test)]
mod tests {
    use unjank_host::tracefs::Context;
    use unjank_host::tracefs::script::{Script, at, task};

    use super::*;

    #[test]
    fn threads_have_names_and_ends_and_ids_are_used_again() {
        let ended = |thread| EventKind::Storage(StorageEvent::Ended { thread, last: None });
        let started =
            |thread| EventKind::Storage(StorageEvent::Started { thread, same_process: false });
        let thread = ThreadId(7);
        let script = Script::new()
            .runs(0, 10, 0, 7)
            .happens(0, 20, Context::Thread, ended(thread))
            .runs(0, 30, 7, 9)
            .happens(0, 40, Context::Thread, started(ThreadId(8)));
        let mut seen = SeenThreads::default();
        script.trace().cpus[0].events.iter().for_each(|event| seen.see(&event));
        assert!(!seen.has_ended(thread, at(15)) && seen.has_ended(thread, at(30)));
        assert_eq!(seen.name(thread), Some(task(7).comm));
        assert_eq!(seen.name(ThreadId(8)), seen.name(ThreadId(9)), "before it has its own");
        let again = Script::new().happens(1, 90, Context::Thread, started(thread));
        again.trace().cpus[1].events.iter().for_each(|event| seen.see(&event));
        assert!(!seen.has_ended(thread, at(100)));
    }

    #[test]
    fn what_ended_long_ago_is_forgotten() {
        let mut seen = SeenThreads::default();
        for number in 0..100_000_u32 {
            let ended = StorageEvent::Ended { thread: ThreadId(number), last: None };
            let time = Timestamp::from_nanos(u64::from(number) * 100_000);
            let (current, context) = (ThreadId(number), Context::Thread);
            seen.see(&Event { at: time, current, context, kind: EventKind::Storage(ended) });
        }
        assert!(seen.ended.len() <= MANY + 1, "{}", seen.ended.len());
        assert!(seen.has_ended(ThreadId(99_999), Timestamp::from_nanos(u64::MAX)));
    }
}
