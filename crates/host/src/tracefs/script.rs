//! Builds synthetic traces event by event, for the tests of all crates that
//! explain traces.

use super::binder_role::BinderRole;
use super::event::{Context, Event, EventKind, Irq, PrevState, Softirq, Task};
use super::lock_flags::LockFlags;
use super::name::Comm;
use super::storage::{DeviceRequest, FilePages, StorageEvent};
use super::system_call::SystemCall;
use super::trace::{CpuTrace, Gap, Trace};
use crate::block_device::DeviceNumber;
use crate::clock::Timestamp;
use crate::sched::ThreadId;
use unjank_units::Hertz;

/// The events of a synthetic trace of three CPUs. Times are in nanoseconds.
/// Thread 0 is the idle task, 7 is called `victim`, 9 `hog`, others `t` with
/// their number.
#[derive(Debug, Clone)]
pub struct Script {
    cpus: Vec<CpuTrace>,
}

/// The timestamp of `nanos` nanoseconds.
pub fn at(nanos: u64) -> Timestamp {
    Timestamp::from_nanos(nanos)
}

/// The thread `tid` with the name that a [`Script`] gives it, and priority 120
/// (nice value 0).
pub fn task(tid: u32) -> Task {
    let comm = match tid {
        0 => "swapper".to_owned(),
        7 => "victim".to_owned(),
        9 => "hog".to_owned(),
        _ => format!("t{tid}"),
    };
    Task { tid: ThreadId(tid), comm: comm.as_str().into(), prio: 120 }
}

/// Sets the names of both threads in every switch to `name`.
pub fn rename(trace: &mut Trace, name: Comm) {
    for cpu in &mut trace.cpus {
        let renamed = cpu.events.iter().map(|mut event| {
            if let EventKind::Switch { prev, next, .. } = &mut event.kind {
                (prev.comm, next.comm) = (name, name);
            }
            event
        });
        cpu.events = renamed.collect();
    }
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
        self.switch(cpu, nanos, prev, next, PrevState::Runnable)
    }

    /// `prev` falls asleep, and `next` runs.
    #[must_use]
    pub fn sleeps(self, cpu: usize, nanos: u64, prev: u32, next: u32) -> Self {
        self.switch(cpu, nanos, prev, next, PrevState::Asleep)
    }

    /// `prev` falls asleep so that no signal wakes it, and `next` runs.
    #[must_use]
    pub fn blocks(self, cpu: usize, nanos: u64, prev: u32, next: u32) -> Self {
        self.switch(cpu, nanos, prev, next, PrevState::Uninterruptible)
    }

    /// A signal stops `prev`, and `next` runs.
    #[must_use]
    pub fn stops(self, cpu: usize, nanos: u64, prev: u32, next: u32) -> Self {
        self.switch(cpu, nanos, prev, next, PrevState::Stopped)
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

    /// Only `sched_waking`, the first of the two events of a wake-up.
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

    /// A timer expires. No event of the trace has armed it.
    #[must_use]
    pub fn expires(self, cpu: usize, nanos: u64) -> Self {
        self.happens(cpu, nanos, Context::Irq, EventKind::TimerExpires { timer: 0 })
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

    /// The CPU's events of requests to the kernel between two moments are lost:
    /// see [`CpuTrace::call_gaps`].
    ///
    /// # Panics
    /// If there is no such CPU.
    #[must_use]
    pub fn loses_calls(mut self, cpu: usize, from: u64, to: u64) -> Self {
        self.cpus[cpu].call_gaps.push(Gap { from: at(from), to: at(to) });
        self
    }

    /// Makes events from arbitrary bytes, four for each event, for property tests.
    /// They are of every kind that a recording of a launch can have. Their times
    /// ascend, but their sequence may be impossible.
    #[must_use]
    pub fn invented(bytes: &[u8]) -> Self {
        let mut script = Self::new();
        let mut now = 0;
        for event in bytes.chunks_exact(4) {
            let &[kind, place, one, other] = event else { break };
            now += u64::from(place >> 3);
            let cpu = usize::from(place) % script.cpus.len();
            let context = match (kind >> 5) % 4 {
                0 | 1 => Context::Thread,
                2 => Context::Softirq,
                _ => Context::Irq,
            };
            script = match kind & 31 {
                kind @ 0..=3 => {
                    let state = match kind {
                        0 | 2 => PrevState::Runnable,
                        1 if one.is_multiple_of(2) => PrevState::Uninterruptible,
                        1 => PrevState::Asleep,
                        _ => PrevState::Stopped,
                    };
                    script.switch(cpu, now, one.into(), other.into(), state)
                }
                4 if one.is_multiple_of(4) => script.loses_calls(cpu, now, now + u64::from(other)),
                4 if other > 0 => {
                    let until = now + u64::from(other);
                    script.cpus[cpu].gaps.push(Gap { from: at(now), to: at(until) });
                    now = until;
                    script
                }
                kind => script.happens(cpu, now, context, invented(kind, one, other)),
            };
        }
        script
    }

    /// The events so far, none of them lost.
    pub fn trace(&self) -> Trace {
        Trace { cpus: self.cpus.clone(), ..Trace::default() }
    }

    fn switch(self, cpu: usize, nanos: u64, prev: u32, next: u32, prev_state: PrevState) -> Self {
        let (prev, next) = (task(prev), task(next));
        self.push(cpu, nanos, EventKind::Switch { prev, prev_state, next })
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

    /// Something happens between the event of a switch and the switch itself.
    ///
    /// # Panics
    /// If there is no such CPU, or if its last event is no switch.
    #[must_use]
    pub fn happens_within_switch(mut self, cpu: usize, nanos: u64, kind: EventKind) -> Self {
        let events = &mut self.cpus[cpu].events;
        let Some(Event { kind: EventKind::Switch { prev, .. }, .. }) = events.last() else {
            panic!("the last event is no switch");
        };
        let (current, context) = (prev.tid, Context::Thread);
        events.push(Event { at: at(nanos), current, context, kind });
        self
    }
}

/// An event of the kind with this number, with content made from two bytes.
fn invented(kind: u8, one: u8, other: u8) -> EventKind {
    let (thread, cpu) = (ThreadId(one.into()), usize::from(other % 3));
    let name =
        |number: u8| -> &str { ["lo", "virtio0-input", "\n\u{202e}", ""][usize::from(number % 4)] };
    let request = DeviceRequest {
        device: DeviceNumber(u32::from(other % 3)),
        sector: u64::from(one),
        sectors: u32::from(other),
        letters: ["R", "W", "FF", "RA"][usize::from(other % 4)].into(),
    };
    match kind {
        5 | 6 => EventKind::Waking { task: task(one.into()), cpu },
        7 => EventKind::Wakeup { task: task(one.into()), cpu },
        8 if one.is_multiple_of(4) => {
            EventKind::IpiSent { cpu, reschedules: one.is_multiple_of(8) }
        }
        8 => EventKind::Migrate { task: task(one.into()), from: cpu, to: usize::from(one % 3) },
        9 => EventKind::IrqEntry(Irq { number: one.into(), name: name(other).into() }),
        10 => EventKind::IrqExit(one.into()),
        11 => EventKind::VectorEntry(name(one).into()),
        12 => EventKind::VectorExit(name(one).into()),
        13 => EventKind::SoftirqEntry(Softirq(one.into())),
        14 => EventKind::SoftirqExit(Softirq(one.into())),
        15 if one.is_multiple_of(2) => EventKind::TimerArmed { timer: other.into() },
        15 => EventKind::TimerExpires { timer: other.into() },
        16 if one.is_multiple_of(4) => EventKind::ReclaimBegins,
        16 if one.is_multiple_of(2) => EventKind::ReclaimEnds,
        16 if other.is_multiple_of(2) => EventKind::TcpRetransmits,
        16 => EventKind::TimerEnds,
        17 => EventKind::Inherits { thread, from: one.into(), to: other.into() },
        18 if other.is_multiple_of(4) => {
            EventKind::LockContended { lock: one.into(), flags: LockFlags(other.into()) }
        }
        18 if other.is_multiple_of(2) => EventKind::LockAcquired { lock: one.into() },
        18 => EventKind::PageFault { address: one.into() },
        19 => EventKind::Idle((other < 128).then_some(one.into())),
        20 => EventKind::Frequency { cpu, frequency: Hertz::from_khz(u64::from(one) * 10_000) },
        21 => EventKind::WorkQueued { item: one.into(), function: other.into() },
        22 => EventKind::WorkBegins { item: one.into(), function: other.into() },
        23 => EventKind::PacketQueued { packet: one.into() },
        24 => EventKind::PacketTaken { packet: one.into() },
        25 if other.is_multiple_of(4) => EventKind::Storage(StorageEvent::Queued(request)),
        25 => EventKind::Storage(StorageEvent::Issued(request)),
        26 => EventKind::Storage(StorageEvent::Completed(request)),
        27 => EventKind::Storage(StorageEvent::Started {
            thread,
            same_process: other.is_multiple_of(2),
        }),
        28 => EventKind::Storage(StorageEvent::Executed {
            process: thread,
            before: ThreadId(other.into()),
            program: name(other).into(),
        }),
        29 => EventKind::Storage(StorageEvent::Ended { thread, last: None }),
        30 if one.is_multiple_of(4) => EventKind::BinderSent {
            transaction: other.into(),
            process: ThreadId(u32::from(one) % 5),
            role: [BinderRole::Call, BinderRole::OneWay, BinderRole::Reply]
                [usize::from(one >> 2) % 3],
        },
        30 if one.is_multiple_of(2) => EventKind::BinderReceived { transaction: other.into() },
        30 => EventKind::SystemCall(SystemCall::Ends { number: one.into(), result: other.into() }),
        31 if one.is_multiple_of(4) => {
            let device = DeviceNumber(u32::from(other % 3));
            let pages = FilePages { device, inode: one.into(), first: 0, order: 0 };
            let is_read = one.is_multiple_of(8);
            EventKind::Storage(if is_read {
                StorageEvent::Cached(pages)
            } else {
                StorageEvent::Touched(pages)
            })
        }
        _ => EventKind::SystemCall(SystemCall::Begins {
            number: i64::from(one) * 2,
            arguments: [other.into(); 6],
        }),
    }
}
