//! The critical path of a window: backwards from its end, through whoever ended
//! each wait.
//!
//! A thread that runs is computing. A thread that is ready waits for a CPU. A
//! thread that sleeps is explained by what woke it: a thread, whose own time
//! within the wait is explained in the same way, or an interrupt: a completed
//! request (back to its issuer), a timer, the network, a device. A work item of
//! the kernel leads to whoever queued it, a new thread to its parent.
//!
//! Every nanosecond of the window is in exactly one segment. What the trace
//! does not tell is [`Activity::Unknown`].

mod calls;
mod classify;
mod segment;
mod walk;

use unjank_host::Timestamp;
use unjank_host::sched::ThreadId;

pub use segment::{Activity, Certainty, Detail, Segment, Way};

/// Whether a system call is `futex`.
pub(crate) fn is_futex(number: i64) -> bool {
    calls::purpose(number) == calls::Purpose::Futex
}

use crate::history::{History, Wait, Wake};

/// The critical path of a window.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Path {
    /// The thread whose progress is explained.
    pub thread: ThreadId,
    /// They fill the window, in order of time.
    pub segments: Vec<Segment>,
    /// The waits of the thread itself.
    pub waits: Vec<OwnWait>,
}

/// A time in which the explained thread slept.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct OwnWait {
    /// Its begin.
    pub from: Timestamp,
    /// Its end.
    pub to: Timestamp,
    /// The thread that slept: the explained one, or the parent that it had
    /// before it was born.
    pub thread: ThreadId,
    /// What it slept in.
    pub wait: Wait,
    /// What ended it, if the trace has that.
    pub wake: Option<Wake>,
    /// How the path left the thread here.
    pub way: Way,
}

/// Finds the critical path of `thread` from one moment to another.
pub fn critical_path(history: &History, thread: ThreadId, from: Timestamp, to: Timestamp) -> Path {
    walk::walk(history, thread, from, to)
}

#[cfg(test)]
mod tests;
