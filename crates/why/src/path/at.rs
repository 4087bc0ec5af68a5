//! A place of the walk.

use super::segment::{Certainty, Page, Way};

/// Where the path is, seen from the explained thread.
#[derive(Debug, Clone, Copy)]
pub(super) struct At {
    pub(super) way: Way,
    pub(super) certainty: Certainty,
    pub(super) wait: Option<u32>,
    pub(super) lock: Option<u32>,
    pub(super) depth: u8,
    /// The page that the path waits for, if the last wait with a known call is a page fault.
    pub(super) page: Option<Page>,
    /// Whether a work item leads to the thread that queued it.
    pub(super) follows_work: bool,
}

impl At {
    pub(super) const fn own() -> Self {
        Self {
            way: Way::Own,
            certainty: Certainty::Proved,
            wait: None,
            lock: None,
            depth: 0,
            page: None,
            follows_work: true,
        }
    }

    /// One waker further.
    pub(super) const fn deeper(self) -> Self {
        Self { depth: self.depth.saturating_add(1), follows_work: true, ..self }
    }
}
