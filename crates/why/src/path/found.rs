//! A critical path with its waits.

use unjank_host::Timestamp;
use unjank_host::sched::ThreadId;

use super::segment::{Certainty, Segment, Way};
use crate::history::{Wait, Wake};

/// The critical path of a window.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Path {
    /// The thread whose progress is explained.
    pub thread: ThreadId,
    /// They fill the window, in order of time.
    pub segments: Vec<Segment>,
    /// The waits of the thread itself.
    pub waits: Vec<OwnWait>,
    /// The waits for locks that the path goes through, of any thread. The times of
    /// nested ones overlap; those of their segments do not.
    pub locks: Vec<LockWait>,
}

/// A time in which a thread on the path slept in a futex or for a kernel lock, until another thread
/// woke it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LockWait {
    /// When it begins.
    pub from: Timestamp,
    /// When it ends.
    pub to: Timestamp,
    /// The thread that slept.
    pub thread: ThreadId,
    /// The futex and the operation, or the kernel lock.
    pub wait: Wait,
    /// What ended it.
    pub wake: Wake,
    /// The thread that ended it.
    pub waker: ThreadId,
    /// Whether the trace proves that the sleeper waited for this thread.
    pub certainty: Certainty,
}

/// A sleep of the explained thread or of one of its ancestors in the program. If the path returns
/// to these threads during a sleep, the parts before and after are two waits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct OwnWait {
    /// When it begins.
    pub from: Timestamp,
    /// When it ends.
    pub to: Timestamp,
    /// The thread that slept: the explained one, or one that it descends from.
    pub thread: ThreadId,
    /// The call, page fault or kernel lock in which it slept.
    pub wait: Wait,
    /// What ended it, if the trace has that within the window.
    pub wake: Option<Wake>,
    /// How the path left the thread here.
    pub way: Way,
}
