//! Trace events about scheduling and interrupts.

use std::fmt;
use std::hash::{Hash, Hasher};

use super::binder_role::BinderRole;
use super::lock_flags::LockFlags;
use super::name::{Comm, Label};
use super::storage::StorageEvent;
use super::system_call::SystemCall;
use crate::clock::Timestamp;
use crate::sched::ThreadId;
use unjank_units::Hertz;

/// One event on one CPU.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Event {
    /// Its time, by the trace clock.
    pub at: Timestamp,
    /// The thread that had the CPU, or was interrupted.
    pub current: ThreadId,
    /// Whether the event occurred in the thread itself or in an interrupt.
    pub context: Context,
    /// Its kind and content.
    pub kind: EventKind,
}

/// What a CPU was doing at an event: the flags of `common_flags`
/// (`TRACE_FLAG_HARDIRQ`, `TRACE_FLAG_SOFTIRQ` of `include/linux/trace_events.h`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Context {
    /// It ran the current thread, in user space or in the kernel.
    #[default]
    Thread,
    /// It handled a soft interrupt: on the way out of an interrupt, in the
    /// thread `ksoftirqd`, or where the current thread enabled them again.
    Softirq,
    /// It handled an interrupt.
    Irq,
}

impl Context {
    const SOFTIRQ: i64 = 0x10;
    const HARDIRQ: i64 = 0x08;
    const NMI: i64 = 0x40;

    /// The context by the value of `common_flags`.
    pub(super) fn of_flags(flags: i64) -> Self {
        if flags & (Self::HARDIRQ | Self::NMI) != 0 {
            Self::Irq
        } else if flags & Self::SOFTIRQ != 0 {
            Self::Softirq
        } else {
            Self::Thread
        }
    }
}

/// The kind of an event, with its content.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EventKind {
    /// The CPU went from one thread to another: `sched/sched_switch`.
    Switch {
        /// The thread that ran until now.
        prev: Task,
        /// Its state from now on.
        prev_state: PrevState,
        /// The thread that runs from now on.
        next: Task,
    },
    /// This CPU began to wake a thread: `sched/sched_waking`.
    Waking {
        /// The thread that is woken.
        task: Task,
        /// The CPU of the thread's last run; it may move to another.
        cpu: usize,
    },
    /// A thread was added to the run queue of a CPU: `sched/sched_wakeup`,
    /// `sched/sched_wakeup_new`.
    Wakeup {
        /// The thread that was woken, or is new.
        task: Task,
        /// The CPU of the queue.
        cpu: usize,
    },
    /// This CPU interrupts another one: `ipi/ipi_send_cpu`, since Linux 6.5.
    IpiSent {
        /// The other CPU.
        cpu: usize,
        /// Whether this is a reschedule interrupt, which has no callback: a thread
        /// in the run queue of the other CPU should run there.
        reschedules: bool,
    },
    /// A thread was moved to another CPU: `sched/sched_migrate_task`.
    Migrate {
        /// The thread that was moved.
        task: Task,
        /// The CPU that it leaves.
        from: usize,
        /// The CPU that it moves to.
        to: usize,
    },
    /// A handler of an interrupt began: `irq/irq_handler_entry`.
    IrqEntry(Irq),
    /// A handler of the interrupt with this number ended: `irq/irq_handler_exit`.
    IrqExit(i32),
    /// One of the processor's own interrupts began, such as `local_timer`:
    /// `irq_vectors/*_entry` (x86).
    VectorEntry(Label),
    /// One of the processor's own interrupts ended: `irq_vectors/*_exit`.
    VectorExit(Label),
    /// A soft interrupt began: `irq/softirq_entry`.
    SoftirqEntry(Softirq),
    /// A soft interrupt ended: `irq/softirq_exit`.
    SoftirqExit(Softirq),
    /// A high-resolution timer was armed, for its first time or again:
    /// `timer/hrtimer_start`.
    TimerArmed {
        /// Its address in the kernel.
        timer: u64,
    },
    /// A timer expired, and its callback begins: `timer/hrtimer_expire_entry`,
    /// `timer/timer_expire_entry`.
    TimerExpires {
        /// Its address in the kernel.
        timer: u64,
    },
    /// The callback of a timer has ended: `timer/hrtimer_expire_exit`,
    /// `timer/timer_expire_exit`.
    TimerEnds,
    /// A thread inherits the priority of another, which waits for it, or has its
    /// own again: `sched/sched_pi_setprio`.
    Inherits {
        /// The thread whose priority changes.
        thread: ThreadId,
        /// Its priority until now, as in [`Task::prio`].
        from: i32,
        /// Its priority from now on.
        to: i32,
    },
    /// The current thread touched a page of its address space that is not
    /// mapped: `exceptions/page_fault_user`.
    PageFault {
        /// The address that it touched.
        address: u64,
    },
    /// The current thread begins to look for pages to evict, because it needs memory that the
    /// machine or its control group does not have: `vmscan/mm_vmscan_direct_reclaim_begin`,
    /// `vmscan/mm_vmscan_memcg_reclaim_begin`.
    ReclaimBegins,
    /// It has evicted some, or given up: the `_end` of both.
    ReclaimEnds,
    /// TCP sends a segment again, because nobody has acknowledged it in time:
    /// `tcp/tcp_retransmit_skb`.
    TcpRetransmits,
    /// The current thread begins to sleep for a kernel lock, or this CPU begins to
    /// spin for one: `lock/contention_begin` (Linux 5.19).
    LockContended {
        /// Its address in the kernel.
        lock: u64,
        /// The kind of lock.
        flags: LockFlags,
    },
    /// The wait for a lock of the kernel is over: `lock/contention_end`.
    LockAcquired {
        /// Its address in the kernel.
        lock: u64,
    },
    /// The CPU entered an idle state, or left it (`None`): `power/cpu_idle`.
    Idle(Option<u32>),
    /// The frequency of a CPU, not necessarily the recording one, changed:
    /// `power/cpu_frequency`.
    Frequency {
        /// The CPU whose frequency changed.
        cpu: usize,
        /// Its new frequency, in whole kilohertz.
        frequency: Hertz,
    },
    /// A work item was queued; a worker thread will call its function:
    /// `workqueue/workqueue_queue_work`.
    WorkQueued {
        /// The address of the item, which is in at most one queue at a time.
        item: u64,
        /// The address of the function, whose name is in `/proc/kallsyms`; 0 in a
        /// recording as text.
        function: u64,
    },
    /// A worker thread begins to execute a work item:
    /// `workqueue/workqueue_execute_start`.
    WorkBegins {
        /// The address of the item.
        item: u64,
        /// The address of the function.
        function: u64,
    },
    /// A packet from a software device, such as `lo`, is put into a CPU's backlog queue:
    /// `net/netif_rx`. Without receive packet steering it is this CPU's queue.
    PacketQueued {
        /// Its address in the kernel.
        packet: u64,
    },
    /// The network stack takes a packet from the backlog queue or from a device:
    /// `net/netif_receive_skb`.
    PacketTaken {
        /// Its address in the kernel.
        packet: u64,
    },
    /// The current thread sends a transaction or a reply over binder, and then wakes a thread
    /// that receives it: `binder/binder_transaction`.
    BinderSent {
        /// Its number, which no other transaction of this kernel has.
        transaction: u32,
        /// The process that it is sent to; 0 if the trace does not have it.
        process: ThreadId,
        /// Whether it is a call, and whether a reply to it follows.
        role: BinderRole,
    },
    /// The current thread receives a transaction or a reply:
    /// `binder/binder_transaction_received`.
    BinderReceived {
        /// Its number, as when it was sent.
        transaction: u32,
    },
    /// A text was written to `trace_marker`; its first 40 bytes are kept.
    Mark(Label),
    /// An event about storage, or about a process that may use it.
    Storage(StorageEvent),
    /// The current thread entered or left a system call.
    SystemCall(SystemCall),
}

/// The state of a thread that a switch took from its CPU.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PrevState {
    /// It could still run.
    Runnable,
    /// It sleeps until an event or a signal, or has ended.
    Asleep,
    /// It sleeps, and signals do not wake it, or only deadly ones: it waits for storage, for a lock
    /// of the kernel, or for a child after `vfork(2)`.
    Uninterruptible,
    /// A signal or a tracer has stopped it, until `SIGCONT` or the tracer continues it.
    Stopped,
}

impl PrevState {
    /// `TASK_UNINTERRUPTIBLE` of `include/linux/sched.h`.
    const UNINTERRUPTIBLE: i64 = 0x02;
    /// `TASK_STOPPED` and `TASK_TRACED`.
    const STOPPED: i64 = 0x04 | 0x08;
    /// The states in which a thread is not runnable. The flag of a preempted thread is above them.
    const NOT_RUNNABLE: i64 = 0xff;

    /// The state by the number `prev_state`.
    pub(super) fn of_bits(bits: i64) -> Self {
        if bits & Self::NOT_RUNNABLE == 0 {
            Self::Runnable
        } else if bits & Self::STOPPED != 0 {
            Self::Stopped
        } else if bits & Self::UNINTERRUPTIBLE != 0 {
            Self::Uninterruptible
        } else {
            Self::Asleep
        }
    }

    /// The state by the kernel's letters, such as `R+` for a preempted thread.
    pub(super) fn of_letters(letters: &str) -> Self {
        match letters.as_bytes().first() {
            Some(b'R') => Self::Runnable,
            Some(b'T' | b't') => Self::Stopped,
            Some(b'D') => Self::Uninterruptible,
            _ => Self::Asleep,
        }
    }

    /// Whether the thread could still run.
    pub fn is_runnable(self) -> bool {
        self == Self::Runnable
    }
}

impl EventKind {
    /// Whether it is a request of a thread to the kernel: a system call, a page fault, a
    /// timer that is armed, or a page of a file. Only explanations of the thread's waits use
    /// these events.
    pub(super) fn is_call(&self) -> bool {
        match self {
            Self::SystemCall(_) | Self::PageFault { .. } | Self::TimerArmed { .. } => true,
            Self::Storage(event) => {
                matches!(event, StorageEvent::Touched(_) | StorageEvent::Cached(_))
            }
            _ => false,
        }
    }
}

/// A thread, as an event names it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Task {
    /// Its id; 0 is the idle task of a CPU.
    pub tid: ThreadId,
    /// Its name at that moment; empty if the trace has only its id.
    pub comm: Comm,
    /// The kernel's priority, lowest number first: 99 − p for real-time
    /// priority p, 120 + n for nice value n, −1 for `SCHED_DEADLINE`.
    pub prio: i32,
}

/// Hashes three words: each switch of a recording looks up two tasks.
impl Hash for Task {
    fn hash<H: Hasher>(&self, state: &mut H) {
        let [name, rest_of_name] = self.comm.words();
        state.write_u64(u64::from(self.tid.0) | u64::from(self.prio.cast_unsigned()) << 32);
        state.write_u64(name);
        state.write_u64(rest_of_name);
    }
}

impl Task {
    /// Whether this is the idle task.
    pub fn is_idle(&self) -> bool {
        self.tid == ThreadId(0)
    }

    /// Whether it runs before all ordinary threads: its policy is real-time or
    /// `SCHED_DEADLINE`. False if the trace lacks its priority.
    pub fn is_real_time(&self) -> bool {
        !self.comm.as_bytes().is_empty() && self.prio < HIGHEST_ORDINARY
    }
}

/// The kernel's priority of nice value −20 (`MAX_RT_PRIO`).
const HIGHEST_ORDINARY: i32 = 100;

/// The name, or `thread 77` without one.
impl fmt::Display for Task {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.comm.as_bytes() {
            [] => write!(f, "{}", self.tid),
            _ => write!(f, "{}", self.comm),
        }
    }
}

/// A device's interrupt line and one of its handlers: `irq/irq_handler_entry`.
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

impl Softirq {
    /// Delivers packets that have arrived.
    pub const NET_RX: Self = Self(3);
}

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
    fn interrupts_have_the_kernels_names() {
        assert_eq!(Softirq(3).to_string(), "softirq NET_RX");
        assert_eq!(Softirq(10).to_string(), "softirq 10");
        let irq = Irq { number: 24, name: "virtio0-input".into() };
        assert_eq!(irq.to_string(), "irq 24 (virtio0-input)");
    }
}
