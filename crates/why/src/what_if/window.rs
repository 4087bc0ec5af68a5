//! The window that is replayed, and the change to it.

use std::collections::BTreeSet;

use unjank_host::Timestamp;
use unjank_host::sched::ThreadId;
use unjank_host::swap_area::Area;
use unjank_host::tracefs::Trace;
use unjank_units::Nanos;

use crate::history::{History, Place};
use crate::path::LockWait;
use crate::split::HighestClocks;

/// The change to a window. The default changes nothing.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Change {
    /// Computing takes as long as at the highest clock.
    pub highest_clock: bool,
    /// Data that is in memory when threads read it, by a page fault or a system call.
    pub in_memory: Option<InMemory>,
    /// No thread looks for pages to evict: there is enough memory.
    pub no_reclaim: bool,
    /// These threads never wait while another thread has their CPU.
    pub boosted: BTreeSet<ThreadId>,
    /// If set, the longest time from the wake-up of a thread that waited in a futex to its run.
    pub lock_handoff: Option<Nanos>,
    /// Threads compute half as long in critical sections of locks that the critical path
    /// waits for.
    pub half_sections: bool,
}

/// Data in memory instead of on storage.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct InMemory {
    /// Which data.
    pub data: Data,
    /// The time of a read of it.
    pub read: Nanos,
}

/// Data on storage.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Data {
    /// All of it.
    All,
    /// Pages in swap areas.
    Swap,
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
    /// The swap areas of the machine.
    pub swap: &'a [Area],
    /// The threads of the explained program. If an event from outside, such as a packet, wakes one
    /// of them, it keeps its distance to that thread.
    pub family: &'a BTreeSet<ThreadId>,
    /// The thread whose progress counts.
    pub thread: ThreadId,
    /// The waits for locks on its critical path.
    pub locks: &'a [LockWait],
    /// The beginning of the window.
    pub from: Timestamp,
    /// The end of the window.
    pub to: Timestamp,
}

impl Window<'_> {
    /// Whether data at a place is among this data. An unknown place is not in swap.
    pub(super) fn holds(&self, data: Data, place: Option<Place>) -> bool {
        let is_swap = |(device, sector): Place| {
            self.swap.iter().any(|area| area.pages(device, sector, 1).is_some())
        };
        match data {
            Data::All => true,
            Data::Swap => place.is_some_and(is_swap),
        }
    }
}
