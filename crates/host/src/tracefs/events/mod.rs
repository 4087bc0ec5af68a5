//! The events of one CPU in a compact form: 24 bytes for each event, and 48 bytes
//! for the arguments of a system call.
//!
//! | module | subject |
//! |---|---|
//! | `packed` | an event in 24 bytes |
//! | `sides` | side tables: names, arguments, rare events |
//! | `numbered` | interned values: tasks and names |

mod numbered;
mod packed;
mod sides;

use std::fmt;
use std::ops::Range;
use std::sync::OnceLock;

use self::packed::Packed;
use self::sides::Sides;
use super::event::Event;
use crate::clock::Timestamp;

/// Events of one CPU. A recording holds millions of them, so they are packed;
/// reading one yields it whole, by value.
#[derive(Clone, Default)]
pub struct Events {
    packed: Vec<Packed>,
    sides: Sides,
    /// The indices of all switches, computed by [`last_switch`](Self::last_switch).
    switches: OnceLock<Box<[u32]>>,
}

impl Events {
    /// Appends an event, which may be earlier than the last one.
    #[inline]
    pub fn push(&mut self, event: Event) {
        let packed = self.sides.pack(&event);
        self.packed.push(packed);
        self.switches.take();
    }

    /// Reserves memory for `more` further events, as [`Vec::reserve_exact`] does.
    pub fn reserve_exact(&mut self, more: usize) {
        self.packed.reserve_exact(more);
    }

    /// Frees the reserved memory that no event uses.
    pub fn shrink(&mut self) {
        self.packed.shrink_to_fit();
        self.sides.shrink();
    }

    /// The number of events.
    pub fn len(&self) -> usize {
        self.packed.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.packed.is_empty()
    }

    /// The event with the index `place`.
    pub fn get(&self, place: usize) -> Option<Event> {
        self.packed.get(place).map(|packed| self.sides.unpack(packed))
    }

    /// The first event of the CPU; `None` without events.
    pub fn first(&self) -> Option<Event> {
        self.get(0)
    }

    /// The last event of the CPU; `None` without events.
    pub fn last(&self) -> Option<Event> {
        self.get(self.len().checked_sub(1)?)
    }

    /// The time of the first event.
    pub fn first_at(&self) -> Option<Timestamp> {
        self.packed.first().map(|packed| packed.at)
    }

    /// The time of the last event.
    pub fn last_at(&self) -> Option<Timestamp> {
        self.packed.last().map(|packed| packed.at)
    }

    /// All events.
    pub fn iter(&self) -> Iter<'_> {
        self.range(0..self.len())
    }

    /// The events with these indices; indices beyond the last event are ignored.
    pub fn range(&self, places: Range<usize>) -> Iter<'_> {
        let end = places.end.min(self.len());
        let packed = self.packed.get(places.start.min(end)..end).unwrap_or_default();
        Iter { packed: packed.iter(), sides: &self.sides }
    }

    /// The indices of the events from the first moment to the second, both
    /// inclusive. The events must be sorted.
    pub fn places(&self, from: Timestamp, to: Timestamp) -> Range<usize> {
        let first = self.packed.partition_point(|packed| packed.at < from);
        first..self.packed.partition_point(|packed| packed.at <= to).max(first)
    }

    /// The index of the last switch in a range of indices. The first call after a
    /// change lists all switches; further calls are binary searches.
    pub fn last_switch(&self, places: Range<usize>) -> Option<usize> {
        let switches = self.switches.get_or_init(|| {
            // 2³² events would take 96 GiB.
            let places = (0..).zip(&self.packed).filter(|(_, packed)| packed.is_switch());
            places.map(|(place, _)| place).collect()
        });
        let before = switches.partition_point(|place| (*place as usize) < places.end);
        let last = *switches.get(before.checked_sub(1)?)? as usize;
        (last >= places.start).then_some(last)
    }

    /// Sorts the events by time. Events with equal times keep their order.
    pub fn sort(&mut self) {
        // The clock may step back by a little when the kernel adjusts it.
        if !self.packed.is_sorted_by_key(|packed| packed.at) {
            self.packed.sort_by_key(|packed| packed.at);
            self.switches.take();
        }
    }

    /// As `sort`, for events from the index `from` on; those before them are earlier.
    pub(super) fn sort_from(&mut self, from: usize) {
        let new = self.packed.get_mut(from..).unwrap_or_default();
        if !new.is_sorted_by_key(|packed| packed.at) {
            new.sort_by_key(|packed| packed.at);
            self.switches.take();
        }
    }

    /// Removes the events for which `keep` is false.
    pub fn retain(&mut self, mut keep: impl FnMut(&Event) -> bool) {
        let sides = &self.sides;
        self.packed.retain(|packed| keep(&sides.unpack(packed)));
        self.switches.take();
    }
}

impl Extend<Event> for Events {
    fn extend<I: IntoIterator<Item = Event>>(&mut self, events: I) {
        let events = events.into_iter();
        self.packed.reserve(events.size_hint().0);
        events.for_each(|event| self.push(event));
    }
}

impl FromIterator<Event> for Events {
    fn from_iter<I: IntoIterator<Item = Event>>(events: I) -> Self {
        let mut all = Self::default();
        all.extend(events);
        all
    }
}

impl<'a> IntoIterator for &'a Events {
    type Item = Event;
    type IntoIter = Iter<'a>;

    fn into_iter(self) -> Iter<'a> {
        self.iter()
    }
}

/// Compares the events, not the numbers of their interned names.
impl PartialEq for Events {
    fn eq(&self, other: &Self) -> bool {
        self.iter().eq(other.iter())
    }
}

impl fmt::Debug for Events {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.iter()).finish()
    }
}

/// Events in order.
#[derive(Clone)]
pub struct Iter<'a> {
    packed: std::slice::Iter<'a, Packed>,
    sides: &'a Sides,
}

impl Iter<'_> {
    /// The time of the next event.
    #[inline]
    pub fn next_at(&self) -> Option<Timestamp> {
        self.packed.as_slice().first().map(|packed| packed.at)
    }

    /// Whether the next event is a switch.
    #[inline]
    pub fn next_switches(&self) -> bool {
        self.packed.as_slice().first().is_some_and(Packed::is_switch)
    }
}

impl fmt::Debug for Iter<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.clone()).finish()
    }
}

impl Iterator for Iter<'_> {
    type Item = Event;

    #[inline]
    fn next(&mut self) -> Option<Event> {
        self.packed.next().map(|packed| self.sides.unpack(packed))
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        self.packed.size_hint()
    }

    fn nth(&mut self, n: usize) -> Option<Event> {
        self.packed.nth(n).map(|packed| self.sides.unpack(packed))
    }
}

impl DoubleEndedIterator for Iter<'_> {
    #[inline]
    fn next_back(&mut self) -> Option<Event> {
        self.packed.next_back().map(|packed| self.sides.unpack(packed))
    }
}

impl ExactSizeIterator for Iter<'_> {}

#[cfg(test)]
mod tests {
    use super::super::binder_role::BinderRole;
    use super::super::event::{Context, EventKind, Irq, PrevState, Softirq, Task};
    use super::super::lock_flags::LockFlags;
    use super::super::name::Comm;
    use super::super::script::Script;
    use super::super::storage::StorageEvent;
    use super::super::system_call::SystemCall;
    use super::*;
    use crate::sched::ThreadId;
    use unjank_units::Hertz;

    fn event(nanos: u64, kind: EventKind) -> Event {
        let (at, current) = (Timestamp::from_nanos(nanos), ThreadId(u32::MAX));
        Event { at, current, context: Context::Softirq, kind }
    }

    /// Events of most kinds, some with numbers that are too large for the packed form.
    fn extremes() -> Vec<Event> {
        let task = |tid, comm: &[u8], prio| {
            let comm = Comm::new(comm);
            Task { tid: ThreadId(tid), comm, prio }
        };
        let hostile = task(u32::MAX, &[0xff; 16], i32::MIN);
        let cpu = u32::MAX as usize + 1;
        let switch =
            |prev_state| EventKind::Switch { prev: hostile, prev_state, next: task(0, b"", 120) };
        let kinds = [
            switch(PrevState::Runnable),
            switch(PrevState::Asleep),
            switch(PrevState::Stopped),
            switch(PrevState::Uninterruptible),
            EventKind::Waking { task: hostile, cpu: 3 },
            EventKind::Waking { task: hostile, cpu },
            EventKind::Wakeup { task: hostile, cpu },
            EventKind::Migrate { task: hostile, from: 1, to: 2 },
            EventKind::Migrate { task: hostile, from: 70_000, to: 2 },
            EventKind::Migrate { task: hostile, from: 1, to: cpu },
            EventKind::IrqEntry(Irq { number: -1, name: "disk".into() }),
            EventKind::IrqEntry(Irq { number: -1, name: "a name of more than sixteen".into() }),
            EventKind::IrqExit(i32::MIN),
            EventKind::VectorEntry("local_timer".into()),
            EventKind::VectorExit("local_timer".into()),
            EventKind::SoftirqEntry(Softirq(u32::MAX)),
            EventKind::SoftirqExit(Softirq(3)),
            EventKind::PageFault { address: u64::MAX },
            EventKind::LockContended { lock: u64::MAX, flags: LockFlags(u16::MAX) },
            EventKind::LockAcquired { lock: 1 },
            EventKind::Idle(None),
            EventKind::Idle(Some(0)),
            EventKind::Idle(Some(u32::MAX)),
            EventKind::Frequency { cpu: 1, frequency: Hertz(u64::MAX) },
            EventKind::PacketQueued { packet: u64::MAX },
            EventKind::PacketTaken { packet: 1 },
            EventKind::BinderSent {
                transaction: u32::MAX,
                process: ThreadId(u32::MAX),
                role: BinderRole::Reply,
            },
            EventKind::BinderSent {
                transaction: 2,
                process: ThreadId(0),
                role: BinderRole::OneWay,
            },
            EventKind::BinderReceived { transaction: 1 },
            EventKind::Mark("hello".into()),
            EventKind::Inherits { thread: ThreadId(5), from: i32::MAX, to: -1 },
            EventKind::WorkBegins { item: u64::MAX, function: u64::MAX },
            EventKind::Storage(StorageEvent::Reclaimed { anonymous: None }),
            EventKind::SystemCall(SystemCall::Begins { number: 202, arguments: [u64::MAX; 6] }),
            EventKind::SystemCall(SystemCall::Begins { number: -1, arguments: [1; 6] }),
            EventKind::SystemCall(SystemCall::Begins { number: 65_536, arguments: [2; 6] }),
            EventKind::SystemCall(SystemCall::Ends { number: 202, result: i64::MIN }),
        ];
        (0..).zip(kinds).map(|(nanos, kind)| event(nanos, kind)).collect()
    }

    #[test]
    fn an_event_comes_back_as_it_was() {
        let extremes = extremes();
        let events: Events = extremes.iter().copied().collect();
        assert_eq!(events.iter().collect::<Vec<_>>(), extremes);
        assert_eq!(events.iter().rev().collect::<Vec<_>>(), {
            let mut backwards = extremes.clone();
            backwards.reverse();
            backwards
        });
        assert_eq!(
            (events.first(), events.last()),
            (extremes.first().copied(), extremes.last().copied())
        );
        assert_eq!(events.get(extremes.len()), None);
    }

    #[test]
    fn a_part_by_place_or_time() {
        let events: Events =
            [10, 20, 20, 30].map(|nanos| event(nanos, EventKind::TimerEnds)).into_iter().collect();
        let at = Timestamp::from_nanos;
        assert_eq!(events.places(at(11), at(20)), 1..3);
        assert_eq!(events.places(at(31), at(5)), 4..4);
        assert_eq!(events.range(3..9).len(), 1);
        assert_eq!(events.range(9..12).len(), 0);
    }

    #[test]
    fn the_last_switch_is_found_again_after_every_change() {
        let other = |nanos| event(nanos, EventKind::TimerEnds);
        let [switch, ..] = extremes()[..] else { panic!() };
        let switches = |nanos| event(nanos, switch.kind);
        let mut events: Events =
            [other(1), switches(2), other(3), switches(9)].into_iter().collect();
        let last =
            |events: &Events| [0..4, 0..3, 2..3, 0..1, 1..2].map(|it| events.last_switch(it));
        assert_eq!(last(&events), [Some(3), Some(1), None, None, Some(1)]);
        events.push(switches(0));
        assert_eq!(events.last_switch(0..5), Some(4));
        events.sort();
        assert_eq!(events.last_switch(0..2), Some(0));
        events.retain(|event| event.at > Timestamp::from_nanos(0));
        assert_eq!(last(&events), [Some(3), Some(1), None, None, Some(1)]);
    }

    #[test]
    fn events_are_sorted_by_time_alone_and_left_out() {
        let mut events: Events = extremes().into_iter().collect();
        events.extend(extremes());
        events.sort();
        assert!(events.iter().is_sorted_by_key(|event| event.at));
        let calls = |event: &Event| matches!(event.kind, EventKind::SystemCall(_));
        let (before, all) = (events.len(), events.clone());
        events.retain(|event| !calls(event));
        assert_eq!(before - events.len(), 8);
        assert!(events != all && events == all.iter().filter(|event| !calls(event)).collect());
    }

    proptest::proptest! {
        #[test]
        fn any_events_come_back(bytes in proptest::collection::vec(0_u8.., 0..400)) {
            for cpu in Script::invented(&bytes).trace().cpus {
                let events: Vec<Event> = cpu.events.iter().collect();
                let again: Events = events.iter().copied().collect();
                proptest::prop_assert_eq!(again.iter().collect::<Vec<_>>(), events);
            }
        }
    }
}
