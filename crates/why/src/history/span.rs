//! One state of a thread and the time that it lasts.

use unjank_host::Timestamp;

use super::wait::{Wait, Wake};

/// A time in which a thread is in one state.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Span {
    /// When it begins.
    pub from: Timestamp,
    /// When it ends; the next span begins there.
    pub to: Timestamp,
    /// Running, woken, ready or asleep, with the CPU or the wait.
    pub state: State,
}

/// The state of a thread.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum State {
    /// It runs on a CPU.
    Running {
        /// The number of the CPU.
        cpu: usize,
    },
    /// It was woken (`sched_waking`) and is not yet in a run queue. The waker chooses a CPU; an
    /// idle CPU puts the thread into its queue itself. The state ends with `sched_wakeup`, or
    /// before that with the reschedule interrupt to the queue's CPU.
    Woken {
        /// The CPU that is chosen so far.
        cpu: usize,
    },
    /// It could run, and waits in the run queue of a CPU.
    Ready {
        /// The number of the CPU.
        cpu: usize,
    },
    /// It sleeps.
    Asleep {
        /// The system call, page fault or kernel lock in which it sleeps.
        wait: Wait,
        /// The wake-up that ends it; `None` if the trace does not have one.
        wake: Option<Wake>,
    },
}
