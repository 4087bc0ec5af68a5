//! The occupants of a CPU over time: pure functions over a trace.

use super::event::{Event, EventKind, Task};
use super::events::Iter;
use super::name::Comm;
use super::occupant::{Occupant, Stretch};
use super::trace::CpuTrace;
use crate::clock::Timestamp;
use crate::sched::ThreadId;

/// The deepest nesting that is followed. Real nesting is shallower: soft
/// interrupts interrupt threads, and interrupts interrupt both.
const DEEPEST_NESTING: usize = 16;
/// The number of events that are searched for the name of a thread.
const NAME_SEARCH: usize = 64;
/// The number of events before the window that are searched for the start of an interrupt or
/// idle state that lasts into the window.
const INTERRUPT_SEARCH: usize = 1024;

impl CpuTrace {
    /// The occupants of this CPU between the two moments, in order and without
    /// overlap. Times that the trace does not cover are left out: gaps, and the
    /// time between two events of different threads without a switch between
    /// them. (Some kernels record no switch away from an idle task.)
    pub fn between(&self, from: Timestamp, to: Timestamp) -> Vec<Stretch> {
        let mut stretches = Stretches { from, to, found: Vec::new() };
        let (before, after) = self.gaps.split_at(self.gaps.partition_point(|gap| gap.to <= from));
        let mut known_from = before.last().map_or(Timestamp::from_nanos(0), |gap| gap.to);
        for gap in after {
            if known_from >= to {
                break;
            }
            self.replay(known_from, gap.from, &mut stretches);
            known_from = gap.to;
        }
        if known_from < to {
            self.replay(known_from, Timestamp::from_nanos(u64::MAX), &mut stretches);
        }
        stretches.found
    }

    /// Follows the events of a span without gaps.
    fn replay(&self, known_from: Timestamp, known_to: Timestamp, stretches: &mut Stretches) {
        let before = self.events.places(known_from, stretches.from.min(known_to));
        // The last switch before the window determines its first occupant.
        let recent = before.start.max(before.end.saturating_sub(INTERRUPT_SEARCH));
        let switch = self.events.last_switch(before);
        let start = switch.map_or(recent, |switch| switch.max(recent));
        let mut events = self.events.range(start..self.events.len());
        let is_known = |event: &Event| event.at <= known_to;
        let mut cpu = Cpu::default();
        if let Some(first) = events.clone().next().filter(is_known) {
            let next = switch.and_then(|place| next_of(&self.events.get(place)?));
            let next = next.filter(|next| next.tid == first.current);
            let named = || task_named(first.current, events.clone(), known_to);
            cpu.task = Some(next.unwrap_or_else(named));
        }
        let mut now = known_from;
        loop {
            let from_here = events.clone();
            let Some(event) = events.next().filter(is_known) else { break };
            if cpu.is_running(event.current) {
                stretches.add(now, event.at, cpu.occupant());
            } else {
                let task = Some(task_named(event.current, from_here, known_to));
                cpu = Cpu { task, ..Cpu::default() };
            }
            if event.at > stretches.to {
                return;
            }
            cpu.apply(&event.kind);
            now = event.at;
        }
        stretches.add(now, known_to, cpu.occupant());
    }
}

/// The thread that runs after a switch.
fn next_of(event: &Event) -> Option<Task> {
    match event.kind {
        EventKind::Switch { next, .. } => Some(next),
        _ => None,
    }
}

/// The thread `tid`, with the name and priority from the next switch if that
/// switches away from it; otherwise without a name.
fn task_named(tid: ThreadId, events: Iter<'_>, known_to: Timestamp) -> Task {
    let mut events = events.take(NAME_SEARCH).take_while(|event| event.at <= known_to);
    let next_switch = events.find_map(|event| match event.kind {
        EventKind::Switch { prev, .. } => Some(prev),
        _ => None,
    });
    let nameless = Task { tid, comm: Comm::new(b""), prio: 0 };
    next_switch.filter(|task| task.tid == tid).unwrap_or(nameless)
}

/// The state of a CPU at one event.
#[derive(Debug, Default)]
struct Cpu {
    task: Option<Task>,
    idle_state: Option<u32>,
    /// Interrupts in progress, innermost last.
    nested: Vec<Occupant>,
}

impl Cpu {
    fn apply(&mut self, event: &EventKind) {
        match *event {
            EventKind::Switch { next, .. } => {
                // Under PREEMPT_RT soft interrupts are preempted like threads.
                *self = Self { task: Some(next), ..Self::default() };
            }
            EventKind::Idle(state) => self.idle_state = state,
            EventKind::IrqEntry(irq) => self.enter(Occupant::Irq(irq)),
            EventKind::IrqExit(number) => {
                self.leave(|who| matches!(who, Occupant::Irq(irq) if irq.number == number));
            }
            EventKind::VectorEntry(name) => self.enter(Occupant::Vector(name)),
            EventKind::VectorExit(name) => self.leave(|who| *who == Occupant::Vector(name)),
            EventKind::SoftirqEntry(softirq) => self.enter(Occupant::Softirq(softirq)),
            EventKind::SoftirqExit(softirq) => self.leave(|who| *who == Occupant::Softirq(softirq)),
            EventKind::Waking { .. }
            | EventKind::Wakeup { .. }
            | EventKind::IpiSent { .. }
            | EventKind::Migrate { .. }
            | EventKind::Frequency { .. }
            | EventKind::WorkQueued { .. }
            | EventKind::WorkBegins { .. }
            | EventKind::Inherits { .. }
            | EventKind::PageFault { .. }
            | EventKind::ReclaimBegins
            | EventKind::ReclaimEnds
            | EventKind::TcpRetransmits
            | EventKind::LockContended { .. }
            | EventKind::LockAcquired { .. }
            | EventKind::TimerArmed { .. }
            | EventKind::TimerExpires { .. }
            | EventKind::TimerEnds
            | EventKind::PacketQueued { .. }
            | EventKind::PacketTaken { .. }
            | EventKind::BinderSent { .. }
            | EventKind::BinderReceived { .. }
            | EventKind::Mark(_)
            | EventKind::Storage(_)
            | EventKind::SystemCall(_) => {}
        }
    }

    fn is_running(&self, tid: ThreadId) -> bool {
        self.task.is_some_and(|task| task.tid == tid)
    }

    fn enter(&mut self, who: Occupant) {
        if self.nested.len() < DEEPEST_NESTING {
            self.nested.push(who);
        }
    }

    /// An exit without an entry in the trace changes nothing.
    fn leave(&mut self, is_it: impl Fn(&Occupant) -> bool) {
        if let Some(place) = self.nested.iter().rposition(is_it) {
            self.nested.truncate(place);
        }
    }

    fn occupant(&self) -> Option<Occupant> {
        let task = self.task.map(|task| {
            if task.is_idle() { Occupant::Idle(self.idle_state) } else { Occupant::Thread(task) }
        });
        self.nested.last().copied().or(task)
    }
}

/// The stretches found so far within a window.
struct Stretches {
    from: Timestamp,
    to: Timestamp,
    found: Vec<Stretch>,
}

impl Stretches {
    /// Adds the part of a stretch that lies within the window.
    fn add(&mut self, from: Timestamp, to: Timestamp, who: Option<Occupant>) {
        let (from, to) = (from.max(self.from), to.min(self.to));
        let Some(who) = who.filter(|_| from < to) else { return };
        match self.found.last_mut() {
            Some(last) if last.to == from && last.who == who => last.to = to,
            _ => self.found.push(Stretch { from, to, who }),
        }
    }
}

#[cfg(test)]
mod tests;
