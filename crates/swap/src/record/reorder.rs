//! Merges the events of all CPUs in the order of time, while tracing goes on.

use unjank_host::sched::ThreadId;
use unjank_host::tracefs::{CpuTrace, EventKind, StorageEvent};
use unjank_host::{Nanos, Timestamp};

/// An event that is being written while its CPU's buffer is read appears at the next read. By then
/// it is hardly older than this.
const SETTLED: Nanos = Nanos::from_millis(20);

/// A traced event with its time and its thread.
pub(super) type Traced = (Timestamp, ThreadId, StorageEvent);

/// Events that are held back because earlier ones may still come.
#[derive(Debug, Default)]
pub(super) struct ReorderBuffer {
    waiting: Vec<Traced>,
}

impl ReorderBuffer {
    /// Takes the events of one read of all CPUs.
    pub(super) fn push(&mut self, trace: &[CpuTrace]) {
        let events = trace.iter().flat_map(|cpu| &cpu.events);
        self.waiting.extend(events.filter_map(|event| match event.kind {
            EventKind::Storage(what) => Some((event.at, event.current, what)),
            _ => None,
        }));
    }

    /// Returns the events whose order is final after all CPUs were read at `read`.
    pub(super) fn settled(&mut self, read: Timestamp) -> Vec<Traced> {
        self.waiting.sort_by_key(|(at, ..)| *at);
        let known = Timestamp::from_nanos(read.as_nanos().saturating_sub(SETTLED.get()));
        let end = self.waiting.partition_point(|(at, ..)| *at <= known);
        self.waiting.drain(..end).collect()
    }

    /// Returns the remaining events after tracing has stopped.
    pub(super) fn rest(mut self) -> Vec<Traced> {
        self.waiting.sort_by_key(|(at, ..)| *at);
        self.waiting
    }
}

#[cfg(test)]
mod tests {
    use unjank_host::tracefs::Event;

    use super::*;

    fn trace(cpus: &[&[u64]]) -> Vec<CpuTrace> {
        let cpu = |times: &[u64]| {
            let mut cpu = CpuTrace::new(0);
            cpu.events = times
                .iter()
                .map(|at| Event {
                    at: Timestamp::from_nanos(*at),
                    current: ThreadId(1),
                    context: unjank_host::tracefs::Context::Thread,
                    kind: EventKind::Storage(StorageEvent::Reclaimed { anonymous: None }),
                })
                .collect();
            cpu
        };
        cpus.iter().map(|times| cpu(times)).collect()
    }

    fn times(events: &[Traced]) -> Vec<u64> {
        events.iter().map(|(at, ..)| at.as_nanos()).collect()
    }

    #[test]
    fn late_events_of_another_cpu_are_sorted_in() {
        let mut buffer = ReorderBuffer::default();
        buffer.push(&trace(&[&[10, 40], &[20]]));
        let read = Timestamp::from_nanos(SETTLED.get() + 25);
        assert_eq!(times(&buffer.settled(read)), [10, 20]);
        buffer.push(&trace(&[&[], &[30, 50]]));
        assert!(buffer.settled(read).is_empty());
        assert_eq!(times(&buffer.rest()), [30, 40, 50]);
    }
}
