//! What a simulation counts: pages that were read and written.

use crate::page::Page;

/// Pages by where they came from and went to.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Traffic {
    /// Pages that memory asked for.
    pub page_ins: u64,
    /// Pages that memory evicted changed.
    pub page_outs: u64,
    /// Pages that memory dropped as they had come.
    pub clean_drops: u64,
    /// Pages read from storage.
    pub storage_reads: u64,
    /// Pages written to storage.
    pub storage_writes: u64,
    /// Pages read from the tier.
    pub tier_reads: u64,
    /// Pages written to the tier: its wear.
    pub tier_writes: u64,
    /// How often a page entered the tier that was not in it.
    pub entered: u64,
    /// Pages of the tier whose copy in storage is stale: writes that are still
    /// to come unless their content goes first.
    pub left_dirty: u64,
}

impl Traffic {
    /// Pages read from storage and written to it.
    pub fn storage_ios(&self) -> u64 {
        self.storage_reads + self.storage_writes
    }

    /// The same with the writes that are still to come. What the I/O of a longer
    /// trace would come to lies between the two.
    pub fn settled_ios(&self) -> u64 {
        self.storage_ios() + self.left_dirty
    }

    /// The share of page-ins that the tier answered; `None` without any.
    pub fn hit_ratio(&self) -> Option<f64> {
        (self.page_ins > 0).then(|| self.tier_reads as f64 / self.page_ins as f64)
    }
}

/// How often storage was read or written for each page: what skew is of.
#[derive(Debug, Clone)]
pub struct PerPage(Box<[u32]>);

impl PerPage {
    /// Nothing so far, of `footprint` pages.
    pub fn new(footprint: u32) -> Self {
        Self(vec![0; footprint as usize].into())
    }

    /// Counts a read or a write of a page.
    pub fn note(&mut self, page: Page) {
        let count = &mut self.0[page.index()];
        *count = count.saturating_add(1);
    }

    /// The count of each page.
    pub fn counts(&self) -> &[u32] {
        &self.0
    }
}
