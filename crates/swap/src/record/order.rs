//! One order of time for what all CPUs traced, while they go on tracing.

use unjank_host::sched::ThreadId;
use unjank_host::tracefs::{CpuTrace, EventKind, StorageEvent};
use unjank_host::{Nanos, Timestamp};

/// An event that a CPU has begun to write when its buffer is read, and is read the next time, is
/// hardly older than this.
const SETTLED: Nanos = Nanos::from_millis(20);

/// A traced event, and in whose course.
pub(super) type Traced = (Timestamp, ThreadId, StorageEvent);

/// Events that later ones may still have to be put before.
#[derive(Debug, Default)]
pub(super) struct Order {
    waiting: Vec<Traced>,
}

impl Order {
    /// Takes what was read.
    pub(super) fn push(&mut self, trace: &[CpuTrace]) {
        let events = trace.iter().flat_map(|cpu| &cpu.events);
        self.waiting.extend(events.filter_map(|event| match event.kind {
            EventKind::Storage(what) => Some((event.at, event.current, what)),
            _ => None,
        }));
    }

    /// Gives out what is in its place for good, all CPUs having been read at `read`.
    pub(super) fn settled(&mut self, read: Timestamp) -> Vec<Traced> {
        self.waiting.sort_by_key(|(at, ..)| *at);
        let known = Timestamp::from_nanos(read.as_nanos().saturating_sub(SETTLED.get()));
        let end = self.waiting.partition_point(|(at, ..)| *at <= known);
        self.waiting.drain(..end).collect()
    }

    /// Gives out the rest: nothing is traced any more.
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
    fn what_comes_late_from_another_cpu_is_put_in_its_place() {
        let mut order = Order::default();
        order.push(&trace(&[&[10, 40], &[20]]));
        let read = Timestamp::from_nanos(SETTLED.get() + 25);
        assert_eq!(times(&order.settled(read)), [10, 20]);
        order.push(&trace(&[&[], &[30, 50]]));
        assert!(order.settled(read).is_empty());
        assert_eq!(times(&order.rest()), [30, 40, 50]);
    }
}
