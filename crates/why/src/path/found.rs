//! A critical path that was found.

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

/// A time in which a thread on the path slept in a futex, until another thread woke
/// it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LockWait {
    /// Its begin.
    pub from: Timestamp,
    /// Its end.
    pub to: Timestamp,
    /// The thread that slept.
    pub thread: ThreadId,
    /// The futex and the operation.
    pub wait: Wait,
    /// What ended it.
    pub wake: Wake,
    /// The thread that ended it.
    pub waker: ThreadId,
    /// Whether the trace proves that the sleeper waited for this thread.
    pub certainty: Certainty,
}

/// A time in which the explained thread slept, and the path was on others. A sleep from
/// which the path comes back in between is several.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct OwnWait {
    /// Its begin.
    pub from: Timestamp,
    /// Its end.
    pub to: Timestamp,
    /// The thread that slept: the explained one, or one that it descends from.
    pub thread: ThreadId,
    /// What it slept in.
    pub wait: Wait,
    /// What ended it, if the trace has that within the window.
    pub wake: Option<Wake>,
    /// How the path left the thread here.
    pub way: Way,
}
