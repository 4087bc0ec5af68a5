//! The order of the events of all CPUs.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::collections::binary_heap::PeekMut;

use super::event::Event;
use super::events::Iter;
use super::trace::CpuTrace;
use crate::clock::Timestamp;

/// The events of all CPUs in order of time, each with the index of its CPU in `cpus`.
pub fn in_order(cpus: &[CpuTrace]) -> impl Iterator<Item = (usize, Event)> {
    let mut rest: Vec<_> = cpus.iter().map(|trace| trace.events.iter()).collect();
    // The sort key of each CPU's next event. Of equal keys, the first CPU's is taken first.
    let next = rest.iter().enumerate();
    let next = next.filter_map(|(index, events)| Some(Reverse((place(events)?, index))));
    let mut next: BinaryHeap<_> = next.collect();
    std::iter::from_fn(move || {
        let mut first = next.peek_mut()?;
        let Reverse((_, index)) = *first;
        let events = rest.get_mut(index)?;
        let event = events.next()?;
        match place(events) {
            // When `first` is dropped, the heap moves it to its new position.
            Some(place) => first.0.0 = place,
            None => drop(PeekMut::pop(first)),
        }
        Some((index, event))
    })
}

/// The sort key of the next event: its time, and whether it is a switch. With a coarse clock, a
/// wake-up and the switch to the woken thread can have the same time, so switches come last.
fn place(events: &Iter<'_>) -> Option<(Timestamp, bool)> {
    Some((events.next_at()?, events.next_switches()))
}

#[cfg(test)]
mod tests {
    use super::super::event::{Context, EventKind, PrevState};
    use super::super::script::{at, task};
    use super::*;

    fn event(nanos: u64, switches: bool) -> Event {
        let task = task(7);
        let kind = if switches {
            EventKind::Switch { prev: task, prev_state: PrevState::Runnable, next: task }
        } else {
            EventKind::TimerExpires { timer: 0 }
        };
        Event { at: at(nanos), current: task.tid, context: Context::Thread, kind }
    }

    #[test]
    fn events_are_in_order_of_time_and_switches_come_last() {
        let cpu = |cpu, events: &[(u64, bool)]| CpuTrace {
            events: events.iter().map(|&(nanos, switches)| event(nanos, switches)).collect(),
            ..CpuTrace::new(cpu)
        };
        let cpus = [
            cpu(3, &[(10, true), (10, false), (40, false)]),
            cpu(4, &[]),
            cpu(5, &[(5, false), (10, false), (20, true)]),
            cpu(6, &[(10, false), (20, false)]),
        ];
        let order: Vec<(usize, u64)> =
            in_order(&cpus).map(|(index, event)| (cpus[index].cpu, event.at.as_nanos())).collect();
        let expected = [(5, 5), (5, 10), (6, 10), (3, 10), (3, 10), (6, 20), (5, 20), (3, 40)];
        assert_eq!(order, expected);
    }

    /// Going through all CPUs for each event would take hours here.
    #[test]
    fn a_recording_may_have_any_number_of_cpus() {
        const CPUS: u64 = 200_000;
        let cpu = |cpu: u64| CpuTrace {
            events: [event(cpu, false), event(2 * CPUS - cpu, true)].into_iter().collect(),
            ..CpuTrace::new(cpu as usize)
        };
        let cpus: Vec<CpuTrace> = (0..CPUS).map(cpu).collect();
        assert!(in_order(&cpus).map(|(_, event)| event.at).is_sorted());
        assert_eq!(in_order(&cpus).count(), 2 * CPUS as usize);
    }
}
