//! Counts of traced events, which the report compares with the kernel's.

use std::collections::HashMap;

use crate::trace::ProcessIndex;

/// Counts of events.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub(super) struct Counts {
    /// Requests to swap areas.
    pub(super) requests_in: u64,
    pub(super) requests_out: u64,
    /// Pages of 4 KiB moved by these requests.
    pub(super) page_ins: u64,
    pub(super) page_outs: u64,
    /// Requests to named devices outside swap areas.
    pub(super) others: u64,
    /// Requests to swap areas that neither read nor write, such as discards.
    pub(super) no_transfers: u64,
    /// File pages that entered and left the page cache.
    pub(super) file_page_ins: u64,
    pub(super) file_drops: u64,
    /// File pages left out because a trace has a maximum number of files.
    pub(super) files_left_out: u64,
    pub(super) launches: u64,
    pub(super) exits: u64,
    /// Page-ins and page-outs of each process.
    pub(super) by_process: HashMap<ProcessIndex, [u64; 2]>,
}

impl Counts {
    /// Takes a request of `who` that moved this many pages of 4 KiB to or from a swap area.
    pub(super) fn moved(&mut self, who: ProcessIndex, is_write: bool, pages: u64) {
        let (requests, moved) = if is_write {
            (&mut self.requests_out, &mut self.page_outs)
        } else {
            (&mut self.requests_in, &mut self.page_ins)
        };
        *requests += 1;
        *moved += pages;
        self.by_process.entry(who).or_default()[usize::from(is_write)] += pages;
    }
}
