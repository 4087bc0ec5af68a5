//! The window that is replayed, and the change to it.

use std::collections::BTreeSet;

use unjank_host::Timestamp;
use unjank_host::sched::ThreadId;
use unjank_host::tracefs::Trace;
use unjank_units::Nanos;

use crate::history::History;
use crate::split::HighestClocks;

/// The change to a window. The default changes nothing.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Change {
    /// Computing takes as long as at the highest clock.
    pub highest_clock: bool,
    /// If set, all data that threads read from storage, by a page fault or a system call, is in
    /// memory. The value is the time of such a read.
    pub cached: Option<Nanos>,
    /// These threads never wait while another thread has their CPU.
    pub boosted: BTreeSet<ThreadId>,
    /// If set, the longest time from the wake-up of a thread that waited in a futex to its run.
    pub lock_handoff: Option<Nanos>,
}

/// The window that is replayed.
#[derive(Debug, Clone, Copy)]
pub struct Window<'a> {
    /// The events of the recording.
    pub trace: &'a Trace,
    /// What all threads did in it.
    pub history: &'a History,
    /// The highest clocks of the machine.
    pub highest: &'a HighestClocks,
    /// The threads of the explained program. If an event from outside, such as a packet, wakes one
    /// of them, it keeps its distance to that thread.
    pub family: &'a BTreeSet<ThreadId>,
    /// The thread whose progress counts.
    pub thread: ThreadId,
    /// The beginning of the window.
    pub from: Timestamp,
    /// The end of the window.
    pub to: Timestamp,
}
