//! One state of a thread and its time.

use unjank_host::Timestamp;

use super::wait::{Wait, Wake};

/// A state and its time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Span {
    /// Its begin.
    pub from: Timestamp,
    /// Its end.
    pub to: Timestamp,
    /// The state.
    pub state: State,
}

/// What a thread does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum State {
    /// It has a CPU.
    Running {
        /// Which one.
        cpu: usize,
    },
    /// It was woken (`sched_waking`) and is not yet in a run queue (`sched_wakeup`, or
    /// the interrupt of the queue's CPU before that): the waker chooses a CPU, and an
    /// idle one fetches the thread itself.
    Woken {
        /// The CPU, as far as it is chosen.
        cpu: usize,
    },
    /// It could run, and waits in the run queue of a CPU.
    Ready {
        /// Which one.
        cpu: usize,
    },
    /// It sleeps.
    Asleep {
        /// What it sleeps in.
        wait: Wait,
        /// Its end; `None` if the trace does not have it.
        wake: Option<Wake>,
    },
}
