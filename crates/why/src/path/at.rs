//! A place of the walk.

use unjank_host::Timestamp;

use super::segment::{Certainty, Page, Way};

/// Where the path is, seen from the explained thread.
#[derive(Debug, Clone, Copy)]
pub(super) struct At {
    pub(super) way: Way,
    pub(super) certainty: Certainty,
    pub(super) wait: Option<u32>,
    pub(super) lock: Option<u32>,
    pub(super) depth: u32,
    /// The last moment to which a wake-up led, and the number of wake-ups there so far.
    pub(super) moment: Timestamp,
    pub(super) repeated: u8,
    /// The page that the path waits for, if the last wait with a known call is a page fault.
    pub(super) page: Option<Page>,
    /// Whether a work item leads to the thread that queued it.
    pub(super) follows_work: bool,
}

impl At {
    /// The explained thread at the end of the explained time.
    pub(super) const fn own(moment: Timestamp) -> Self {
        Self {
            way: Way::Own,
            certainty: Certainty::Proved,
            wait: None,
            lock: None,
            depth: 0,
            moment,
            repeated: 0,
            page: None,
            follows_work: true,
        }
    }

    /// Back on one of the program's own threads.
    pub(super) const fn back(self) -> Self {
        let Self { certainty, depth, moment, repeated, .. } = self;
        Self { certainty, depth, repeated, ..Self::own(moment) }
    }

    /// One waker further, at this moment.
    pub(super) fn deeper(self, moment: Timestamp) -> Self {
        let repeated = if moment == self.moment { self.repeated.saturating_add(1) } else { 0 };
        Self { depth: self.depth.saturating_add(1), moment, repeated, follows_work: true, ..self }
    }
}
