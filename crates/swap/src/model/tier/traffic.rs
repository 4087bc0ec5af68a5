//! What a simulation counts: pages that were read and written.

use crate::model::page::Page;

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
}

impl Traffic {
    /// Pages read from storage and written to it.
    pub fn storage_ios(&self) -> u64 {
        self.storage_reads + self.storage_writes
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

    /// The share of reads and writes made by the pages that make most of them:
    /// `share` of all pages that make any. `None` without any.
    pub fn made_by_hottest(&self, share: f64) -> Option<f64> {
        let counts = self.sorted();
        let hottest = (counts.len() as f64 * share).round() as usize;
        let sum = |counts: &[u32]| counts.iter().map(|count| u64::from(*count)).sum::<u64>();
        let all = sum(&counts);
        (all > 0).then(|| sum(&counts[..hottest.min(counts.len())]) as f64 / all as f64)
    }

    /// The smallest share of pages that makes `share` of reads and writes.
    pub fn that_make(&self, share: f64) -> Option<f64> {
        let counts = self.sorted();
        let enough = share * counts.iter().map(|count| f64::from(*count)).sum::<f64>();
        let mut made = 0.0;
        let pages = counts.iter().position(|count| {
            made += f64::from(*count);
            made >= enough
        })?;
        Some((pages + 1) as f64 / counts.len() as f64)
    }

    /// The counts of all pages that were read or written, largest first.
    pub fn sorted(&self) -> Vec<u32> {
        let mut counts: Vec<u32> = self.0.iter().copied().filter(|count| *count > 0).collect();
        counts.sort_unstable_by(|one, other| other.cmp(one));
        counts
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn skew_is_of_pages_that_were_used_at_all() {
        let mut counts = PerPage::new(100);
        for (page, times) in [(3, 70), (7, 10), (8, 10), (9, 10)] {
            (0..times).for_each(|_| counts.note(Page(page)));
        }
        assert_eq!(counts.made_by_hottest(0.25), Some(0.7));
        assert_eq!(counts.that_make(0.8), Some(0.5));
        assert_eq!(PerPage::new(5).made_by_hottest(0.5), None);
        assert_eq!(PerPage::new(5).that_make(0.5), None);
    }
}
