//! What is replayed, and what is changed.

use std::collections::BTreeSet;

use unjank_host::Timestamp;
use unjank_host::sched::ThreadId;
use unjank_host::tracefs::Trace;
use unjank_units::Nanos;

use crate::history::History;
use crate::split::HighestClocks;

/// What is changed.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Change {
    /// Computing takes as long as at the highest clock.
    pub highest_clock: bool,
    /// What a thread reads from storage, by a page fault or a system call, is in
    /// memory: the time of such a read.
    pub cached: Option<Nanos>,
    /// These threads never wait while another thread has their CPU.
    pub boosted: BTreeSet<ThreadId>,
    /// From the wake-up to the run of a thread that waited in a futex.
    pub lock_handoff: Option<Nanos>,
}

/// What is replayed.
#[derive(Debug, Clone, Copy)]
pub struct Window<'a> {
    /// The recording.
    pub trace: &'a Trace,
    /// What all threads did in it.
    pub history: &'a History,
    /// The highest clocks of the machine.
    pub highest: &'a HighestClocks,
    /// The explained program, which is the cause of what comes to it from outside.
    pub family: &'a BTreeSet<ThreadId>,
    /// The thread whose progress counts.
    pub thread: ThreadId,
    /// The beginning of the window.
    pub from: Timestamp,
    /// Its end.
    pub to: Timestamp,
}
