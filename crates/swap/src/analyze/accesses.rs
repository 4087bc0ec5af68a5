//! Counts accesses by page and process.

use crate::trace::{Backing, Event, Operation, ProcessIndex};
use unjank_cachesim::page::SpaceError;
use unjank_cachesim::{Dense, Page};

use super::skew::Skew;

/// Bits of the page in the key of a pair; those of the process are above.
pub(super) const PAGE_BITS: u32 = 30;

/// Counts of accesses by page, and by pair of a page and a process.
///
/// Takes 11 bytes for each page and, if the trace names processes, some 10 to 40 for each pair of a
/// page and a process that accesses it.
#[derive(Default)]
pub(super) struct Accesses {
    pub(super) counts: Vec<u32>,
    /// Space and backing of each page.
    pub(super) about: Vec<About>,
    pub(super) pairs: Dense,
    pub(super) pair_counts: Vec<u32>,
    keys: Vec<u64>,
    numbered: Vec<Page>,
    /// Accesses by operation.
    totals: [u64; Operation::ALL.len()],
}

#[derive(Clone, Copy, Default)]
pub(super) struct About {
    pub(super) space: u16,
    pub(super) backing: Backing,
}

impl Accesses {
    /// Counts accesses; `pages` has the page of each.
    pub(super) fn take(&mut self, events: &[Event], pages: &[Page]) -> Result<(), SpaceError> {
        self.keys.clear();
        for (event, page) in events.iter().zip(pages) {
            if page.index() >= self.counts.len() {
                self.counts.resize(page.index() + 1, 0);
                self.about.resize(page.index() + 1, About::default());
            }
            let count = &mut self.counts[page.index()];
            *count = count.saturating_add(1);
            let about = &mut self.about[page.index()];
            about.space = event.space.0;
            if event.backing != Backing::Unknown {
                about.backing = event.backing;
            }
            self.totals[event.operation as usize] += 1;
            if event.who != ProcessIndex::UNKNOWN {
                self.keys.push(u64::from(event.who.0) << PAGE_BITS | u64::from(page.0));
            }
        }
        self.numbered.clear();
        self.pairs.pages(&self.keys, &mut self.numbered)?;
        self.pair_counts.resize(self.pairs.footprint() as usize, 0);
        for pair in &self.numbered {
            let count = &mut self.pair_counts[pair.index()];
            *count = count.saturating_add(1);
        }
        Ok(())
    }

    /// Accesses by operation, in the order of [`Operation::ALL`].
    pub(super) fn totals(&self) -> [u64; Operation::ALL.len()] {
        self.totals
    }

    pub(super) fn skew(&self) -> Skew {
        Skew::of(&self.counts)
    }

    /// The memory that it takes, in bytes.
    pub(super) fn bytes(&self) -> usize {
        self.counts.capacity() * size_of::<u32>()
            + self.about.capacity() * size_of::<About>()
            + self.pairs.bytes()
            + self.pair_counts.capacity() * size_of::<u32>()
    }
}
