//! Synthetic traces, written event by event, for tests of explanations in every
//! crate that explains traces.

use super::event::{Context, Event, EventKind, Irq, Task};
use super::trace::{CpuTrace, Gap, Trace};
use crate::clock::Timestamp;
use crate::sched::ThreadId;

/// The events of a synthetic trace of three CPUs. Times are in nanoseconds.
/// Thread 0 is the idle task, 7 is called `victim`, 9 `hog`, others `t` with
/// their number.
#[derive(Debug, Clone)]
pub struct Script {
    cpus: Vec<CpuTrace>,
}

/// The moment `nanos` after the beginning.
pub fn at(nanos: u64) -> Timestamp {
    Timestamp::from_nanos(nanos)
}

/// A thread as events name it.
pub fn task(tid: u32) -> Task {
    let comm = match tid {
        0 => "swapper".to_owned(),
        7 => "victim".to_owned(),
        9 => "hog".to_owned(),
        _ => format!("t{tid}"),
    };
    Task { tid: ThreadId(tid), comm: comm.as_str().into(), prio: 120 }
}

impl Default for Script {
    fn default() -> Self {
        Self::new()
    }
}

impl Script {
    /// A trace without events.
    pub fn new() -> Self {
        Self { cpus: (0..3).map(CpuTrace::new).collect() }
    }

    /// `next` takes the CPU from `prev`, which stays runnable.
    #[must_use]
    pub fn runs(self, cpu: usize, nanos: u64, prev: u32, next: u32) -> Self {
        self.switch(cpu, nanos, prev, next, true)
    }

    /// `prev` falls asleep, and `next` runs.
    #[must_use]
    pub fn sleeps(self, cpu: usize, nanos: u64, prev: u32, next: u32) -> Self {
        self.switch(cpu, nanos, prev, next, false)
    }

    /// `cpu` wakes a thread into the queue of the CPU `queue`.
    #[must_use]
    pub fn wakes(self, cpu: usize, nanos: u64, tid: u32, queue: usize) -> Self {
        self.wakes_late(cpu, nanos, tid, queue).push(
            cpu,
            nanos,
            EventKind::Wakeup { task: task(tid), cpu: queue },
        )
    }

    /// The first of the two events of a wake-up only.
    #[must_use]
    pub fn wakes_late(self, cpu: usize, nanos: u64, tid: u32, queue: usize) -> Self {
        self.push(cpu, nanos, EventKind::Waking { task: task(tid), cpu: queue })
    }

    /// A thread moves from one CPU's queue to another's.
    #[must_use]
    pub fn migrates(self, cpu: usize, nanos: u64, tid: u32, from: usize, to: usize) -> Self {
        self.push(cpu, nanos, EventKind::Migrate { task: task(tid), from, to })
    }

    /// An interrupt of a disk.
    #[must_use]
    pub fn interrupts(self, cpu: usize, from: u64, to: u64) -> Self {
        let irq = Irq { number: 24, name: "disk".into() };
        self.push(cpu, from, EventKind::IrqEntry(irq)).push(cpu, to, EventKind::IrqExit(24))
    }

    /// A timer expires.
    #[must_use]
    pub fn expires(self, cpu: usize, nanos: u64) -> Self {
        self.happens(cpu, nanos, Context::Irq, EventKind::TimerExpires)
    }

    /// The CPU enters an idle state, or leaves it.
    #[must_use]
    pub fn idles(self, cpu: usize, nanos: u64, state: Option<u32>) -> Self {
        self.push(cpu, nanos, EventKind::Idle(state))
    }

    /// The CPU's events between two moments are lost.
    ///
    /// # Panics
    /// If there is no such CPU.
    #[must_use]
    pub fn loses(mut self, cpu: usize, from: u64, to: u64) -> Self {
        self.cpus[cpu].gaps.push(Gap { from: at(from), to: at(to) });
        self
    }

    /// The trace.
    pub fn trace(&self) -> Trace {
        Trace { cpus: self.cpus.clone(), ..Trace::default() }
    }

    fn switch(self, cpu: usize, nanos: u64, prev: u32, next: u32, prev_runnable: bool) -> Self {
        let (prev, next) = (task(prev), task(next));
        self.push(cpu, nanos, EventKind::Switch { prev, prev_runnable, next })
    }

    fn push(self, cpu: usize, nanos: u64, kind: EventKind) -> Self {
        self.happens(cpu, nanos, Context::Thread, kind)
    }

    /// Any event. Its current thread is the one that the last switch gave the CPU
    /// to.
    ///
    /// # Panics
    /// If there is no such CPU.
    #[must_use]
    pub fn happens(mut self, cpu: usize, nanos: u64, context: Context, kind: EventKind) -> Self {
        let events = &mut self.cpus[cpu].events;
        let current = match (kind, events.last()) {
            (EventKind::Switch { prev, .. }, _) => prev.tid,
            (_, Some(Event { kind: EventKind::Switch { next, .. }, .. })) => next.tid,
            (_, Some(event)) => event.current,
            (_, None) => ThreadId(0),
        };
        events.push(Event { at: at(nanos), current, context, kind });
        self
    }
}
