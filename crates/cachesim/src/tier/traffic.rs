//! Counts of pages that were read and written.

use crate::page::Page;

/// Pages read and written at each level.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Traffic {
    /// Pages that memory brought in.
    pub page_ins: u64,
    /// Dirty pages that memory evicted.
    pub page_outs: u64,
    /// Clean pages that memory dropped.
    pub clean_drops: u64,
    /// Pages read from storage.
    pub storage_reads: u64,
    /// Pages written to storage.
    pub storage_writes: u64,
    /// Pages read from the tier.
    pub tier_reads: u64,
    /// Pages written to the tier: its wear.
    pub tier_writes: u64,
    /// Pages that entered the tier.
    pub entered: u64,
    /// Pages of the tier whose copy in storage is stale: writes that are still to come unless the
    /// pages are freed first.
    pub left_dirty: u64,
}

impl Traffic {
    /// Pages read from storage and written to it.
    pub fn storage_ios(&self) -> u64 {
        self.storage_reads + self.storage_writes
    }

    /// Storage I/O with the writes that are still to come. The I/O of a longer trace would lie
    /// between the two counts.
    pub fn settled_ios(&self) -> u64 {
        self.storage_ios() + self.left_dirty
    }

    /// The share of page-ins that the tier answered; `None` without page-ins.
    pub fn hit_ratio(&self) -> Option<f64> {
        (self.page_ins > 0).then(|| self.tier_reads as f64 / self.page_ins as f64)
    }
}

/// Reads and writes of storage by page, from which the skew is computed.
#[derive(Debug, Clone)]
pub struct PerPage(Box<[u32]>);

impl PerPage {
    /// Zero for each of `footprint` pages.
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
