//! Traces for tests, told event by event.

use unjank_host::Timestamp;
use unjank_host::sched::ThreadId;
use unjank_host::tracefs::{CpuTrace, Event, EventKind, Gap, Irq, Lost, Task, Trace};

/// The events of a made-up trace. Times are in nanoseconds.
#[derive(Debug, Clone, Default)]
pub(super) struct Script {
    cpus: Vec<CpuTrace>,
}

pub(super) fn at(nanos: u64) -> Timestamp {
    Timestamp::from_nanos(nanos)
}

pub(super) fn task(tid: u32) -> Task {
    let comm = match tid {
        0 => "swapper".to_owned(),
        7 => "victim".to_owned(),
        9 => "hog".to_owned(),
        _ => format!("t{tid}"),
    };
    Task { tid: ThreadId(tid), comm: comm.as_str().into(), prio: 120 }
}

impl Script {
    pub(super) fn new() -> Self {
        Self { cpus: (0..3).map(CpuTrace::new).collect() }
    }

    /// `next` takes the CPU from `prev`, which could run on.
    pub(super) fn runs(self, cpu: usize, nanos: u64, prev: u32, next: u32) -> Self {
        self.switch(cpu, nanos, prev, next, true)
    }

    /// `prev` falls asleep, and `next` runs.
    pub(super) fn sleeps(self, cpu: usize, nanos: u64, prev: u32, next: u32) -> Self {
        self.switch(cpu, nanos, prev, next, false)
    }

    /// `cpu` wakes a thread into the queue of the CPU `queue`.
    pub(super) fn wakes(self, cpu: usize, nanos: u64, tid: u32, queue: usize) -> Self {
        self.wakes_late(cpu, nanos, tid, queue).push(
            cpu,
            nanos,
            EventKind::Wakeup { task: task(tid), cpu: queue },
        )
    }

    /// Only the first of the two events of a wake-up.
    pub(super) fn wakes_late(self, cpu: usize, nanos: u64, tid: u32, queue: usize) -> Self {
        self.push(cpu, nanos, EventKind::Waking { task: task(tid), cpu: queue })
    }

    pub(super) fn migrates(self, cpu: usize, nanos: u64, tid: u32, from: usize, to: usize) -> Self {
        self.push(cpu, nanos, EventKind::Migrate { task: task(tid), from, to })
    }

    /// An interrupt of a disk.
    pub(super) fn interrupts(self, cpu: usize, from: u64, to: u64) -> Self {
        let irq = Irq { number: 24, name: "disk".into() };
        self.push(cpu, from, EventKind::IrqEntry(irq)).push(cpu, to, EventKind::IrqExit(24))
    }

    pub(super) fn idles(self, cpu: usize, nanos: u64, state: Option<u32>) -> Self {
        self.push(cpu, nanos, EventKind::Idle(state))
    }

    pub(super) fn loses(mut self, cpu: usize, from: u64, to: u64) -> Self {
        self.cpus[cpu].gaps.push(Gap { from: at(from), to: at(to) });
        self
    }

    pub(super) fn trace(&self) -> Trace {
        Trace { cpus: self.cpus.clone(), lost: Lost::default() }
    }

    fn switch(self, cpu: usize, nanos: u64, prev: u32, next: u32, prev_runnable: bool) -> Self {
        let (prev, next) = (task(prev), task(next));
        self.push(cpu, nanos, EventKind::Switch { prev, prev_runnable, next })
    }

    /// The thread that is current at an event is the one that the last switch
    /// gave the CPU to.
    fn push(mut self, cpu: usize, nanos: u64, kind: EventKind) -> Self {
        let events = &mut self.cpus[cpu].events;
        let current = match (kind, events.last()) {
            (EventKind::Switch { prev, .. }, _) => prev.tid,
            (_, Some(Event { kind: EventKind::Switch { next, .. }, .. })) => next.tid,
            (_, Some(event)) => event.current,
            (_, None) => ThreadId(0),
        };
        events.push(Event { at: at(nanos), current, kind });
        self
    }
}
