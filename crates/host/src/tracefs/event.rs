//! What a trace says: the events that bear on who runs when.

use std::fmt;

use super::name::{Comm, Label};
use super::storage::StorageEvent;
use super::system_call::SystemCall;
use crate::clock::Timestamp;
use crate::sched::ThreadId;
use unjank_units::Hertz;

/// One event on one CPU.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Event {
    /// When it happened.
    pub at: Timestamp,
    /// The thread that had the CPU when it happened, or was interrupted by it.
    pub current: ThreadId,
    /// What happened.
    pub kind: EventKind,
}

/// What happened.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EventKind {
    /// The CPU went from one thread to another: `sched/sched_switch`.
    Switch {
        /// The thread that ran until now.
        prev: Task,
        /// Whether it could have run on.
        prev_runnable: bool,
        /// The thread that runs from now.
        next: Task,
    },
    /// This CPU began to wake a thread: `sched/sched_waking`.
    Waking {
        /// The thread.
        task: Task,
        /// The CPU that the thread was on; it may move to another.
        cpu: usize,
    },
    /// A thread came into the run queue of a CPU: `sched/sched_wakeup`,
    /// `sched/sched_wakeup_new`.
    Wakeup {
        /// The thread.
        task: Task,
        /// The CPU whose queue it is in.
        cpu: usize,
    },
    /// A thread was moved to another CPU: `sched/sched_migrate_task`.
    Migrate {
        /// The thread.
        task: Task,
        /// The CPU that it leaves.
        from: usize,
        /// The CPU that it goes to.
        to: usize,
    },
    /// A handler of an interrupt began: `irq/irq_handler_entry`.
    IrqEntry(Irq),
    /// A handler of the interrupt with this number ended: `irq/irq_handler_exit`.
    IrqExit(i32),
    /// One of the processor's own interrupts began: `irq_vectors/*_entry` (x86).
    VectorEntry(Label),
    /// It ended: `irq_vectors/*_exit`.
    VectorExit(Label),
    /// A soft interrupt began: `irq/softirq_entry`.
    SoftirqEntry(Softirq),
    /// It ended: `irq/softirq_exit`.
    SoftirqExit(Softirq),
    /// The kernel found a high-resolution timer expired and calls what is to
    /// happen then: `timer/hrtimer_expire_entry`.
    TimerExpires,
    /// The CPU went into an idle state, or left it (`None`): `power/cpu_idle`.
    Idle(Option<u32>),
    /// The clock of a CPU, not of the one that says so, changed:
    /// `power/cpu_frequency`.
    Frequency {
        /// The CPU whose clock it is.
        cpu: usize,
        /// What it has from now.
        frequency: Hertz,
    },
    /// A work item was given to a worker thread, which calls the function at
    /// this address of the kernel: `workqueue/workqueue_queue_work`.
    WorkQueued {
        /// The address, of which `/proc/kallsyms` tells the name.
        function: u64,
    },
    /// The worker calls it: `workqueue/workqueue_execute_start`.
    WorkBegins {
        /// The address.
        function: u64,
    },
    /// Somebody wrote into `trace_marker`; the beginning of the text.
    Mark(Label),
    /// Something happened to storage, or to a process that may use it.
    Storage(StorageEvent),
    /// The current thread called the kernel, or got its answer.
    SystemCall(SystemCall),
}

/// A thread, as an event names it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Task {
    /// Its number; 0 is the idle task of a CPU.
    pub tid: ThreadId,
    /// Its name at that moment; empty where the trace names only its number.
    pub comm: Comm,
    /// The kernel's priority, lowest number first: 99 − p for real-time
    /// priority p, 120 + n for nice value n, −1 for `SCHED_DEADLINE`.
    pub prio: i32,
}

impl Task {
    /// Whether this is what a CPU runs when there is nothing to do.
    pub fn is_idle(&self) -> bool {
        self.tid == ThreadId(0)
    }
}

/// The name, or `thread 77` without one.
impl fmt::Display for Task {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.comm.as_bytes() {
            [] => write!(f, "{}", self.tid),
            _ => write!(f, "{}", self.comm),
        }
    }
}

/// An interrupt line.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Irq {
    /// Its number, as in `/proc/interrupts`.
    pub number: i32,
    /// The name of the handler that was called.
    pub name: Label,
}

/// `irq 24 (virtio0-input)`.
impl fmt::Display for Irq {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "irq {} ({})", self.number, self.name)
    }
}

/// A soft interrupt by its number.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Softirq(pub u32);

/// `softirq NET_RX`, by the names of `include/linux/interrupt.h`.
impl fmt::Display for Softirq {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        const NAMES: [&str; 10] = [
            "HI", "TIMER", "NET_TX", "NET_RX", "BLOCK", "IRQ_POLL", "TASKLET", "SCHED", "HRTIMER",
            "RCU",
        ];
        match NAMES.get(self.0 as usize) {
            Some(name) => write!(f, "softirq {name}"),
            None => write!(f, "softirq {}", self.0),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn interrupts_are_called_as_the_kernel_calls_them() {
        assert_eq!(Softirq(3).to_string(), "softirq NET_RX");
        assert_eq!(Softirq(10).to_string(), "softirq 10");
        let irq = Irq { number: 24, name: "virtio0-input".into() };
        assert_eq!(irq.to_string(), "irq 24 (virtio0-input)");
    }
}
