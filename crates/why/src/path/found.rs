//! A critical path that was found.

use unjank_host::Timestamp;
use unjank_host::sched::ThreadId;

use super::segment::{Segment, Way};
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
}

/// A time in which the explained thread slept, and the path was on others.
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
