//! A small fast tier between memory and storage, as Bahn & Kim propose it (JIIBC 23-2-8, 2023).
//! It can hold pages that memory evicts, and serves page-ins of the pages that it holds.
//!
//! - A dirty page that memory evicts and the tier holds is written over in place. A dirty page that
//!   it does not hold enters if the [admission rule](super::admission) admits it, and is written to
//!   storage otherwise.
//! - A clean page that memory drops has a current copy below. If the tier holds it, nothing
//!   happens, and that is no request. Otherwise it may enter, with one write of the tier.
//! - A page-in is a read of the tier if it holds the page, else of storage. The tier keeps its
//!   copy, so dropping the page again costs nothing until memory changes it. No page enters the
//!   tier at a page-in.
//! - A page that leaves the tier is written to storage if the copy there is stale.
//! - A page that is freed (its process ended, its slot was freed) leaves at once without a write,
//!   and its history is forgotten.
//! - When a trace ends, the tier may hold pages whose copy in storage is stale. Their writes are
//!   still to come and are counted apart ([`Traffic::left_dirty`]).
//!
//! The tier decides and counts; it moves no data. A simulation ignores what it returns. A tier that
//! runs does what it says: [`Placed`] is where an evicted page goes and which page leaves for it.

mod choice;
pub mod device;
mod level;
mod named;
pub mod pages;
mod placed;
mod registry;
mod replay;
pub mod slots;
mod traffic;

pub use choice::{CHEAP_WRITE, FAIR_WRITE};
pub use level::Level;
pub use named::{AdmissionRule, Replayed, TierPolicy, UnknownTierPolicy};
pub use placed::{Left, Placed};
pub use registry::Key;
pub use replay::Waits;
pub use traffic::{PerPage, Traffic};

use unjank_units::Nanos;

use super::admission::{Admission, Eviction};
use super::bits::Bits;
use super::page::Page;
use super::replacement::Replacement;

/// The tier, with its replacement policy and its admission rule.
pub struct Tier<R, A> {
    cache: R,
    admission: A,
    /// Pages of the tier whose copy in storage is stale.
    stale: Bits,
    traffic: Traffic,
    per_page: Option<PerPage>,
}

impl<R: Replacement, A: Admission> Tier<R, A> {
    /// An empty tier over storage that holds every page.
    pub fn new(cache: R, admission: A) -> Self {
        let stale = Bits::new(cache.space().footprint());
        Self { cache, admission, stale, traffic: Traffic::default(), per_page: None }
    }

    /// Counts from now on how often storage is read or written for each page.
    pub fn count_pages(&mut self) {
        self.per_page = Some(PerPage::new(self.cache.space().footprint()));
    }

    /// These counts; `None` without [`count_pages`](Self::count_pages).
    pub fn per_page(&self) -> Option<&PerPage> {
        self.per_page.as_ref()
    }

    /// Whether the tier holds the page.
    pub fn holds(&self, page: Page) -> bool {
        self.cache.contains(page)
    }

    /// A write to storage bypasses the tier.
    pub fn write_through(&mut self, page: Page) {
        self.write(page);
    }

    /// Memory brings a page in. Returns where the page was.
    pub fn page_in(&mut self, page: Page, at: Nanos) -> Level {
        self.traffic.page_ins += 1;
        let found = if self.cache.contains(page) { Level::Tier } else { Level::Storage };
        self.admission.requested(page, found, at);
        match found {
            Level::Tier => {
                self.cache.hit(page);
                self.traffic.tier_reads += 1;
            }
            Level::Storage => {
                self.traffic.storage_reads += 1;
                self.note(page);
            }
        }
        found
    }

    /// The next page that the rule returns to storage although none enters. To be called before each
    /// eviction; a simulation calls it until it returns `None`.
    pub fn next_to_leave(&mut self, at: Nanos) -> Option<Left> {
        loop {
            let page = self.admission.leaves(at)?;
            if self.cache.remove(page) {
                return Some(self.leave(page));
            }
        }
    }

    /// Memory evicts a dirty page.
    pub fn page_out(&mut self, page: Page, at: Nanos) -> Placed {
        self.traffic.page_outs += 1;
        let placed = if self.cache.contains(page) {
            self.admission.rewritten(page, at);
            self.cache.hit(page);
            self.traffic.tier_writes += 1;
            Placed::TIER
        } else {
            self.enter(page, at, true)
        };
        match placed.level {
            Level::Tier => self.becomes_stale(page),
            Level::Storage => self.write(page),
        }
        placed
    }

    /// Memory has evicted a dirty page, and storage has it, whatever the rule says. The eviction
    /// counts in the page's history.
    pub fn went_past(&mut self, page: Page, at: Nanos) {
        self.traffic.page_outs += 1;
        if self.cache.contains(page) {
            self.not_taken(page);
        } else {
            let _it_does_not_enter = self.admission.admits(Eviction { page, dirty: true, at });
        }
        self.write(page);
    }

    /// Memory drops a clean page, of which storage has a current copy. It is in the tier afterwards
    /// if the result says so.
    pub fn clean_drop(&mut self, page: Page, at: Nanos) -> Placed {
        self.traffic.clean_drops += 1;
        if self.cache.contains(page) {
            self.admission.dropped(page, at);
            Placed::TIER
        } else {
            self.enter(page, at, false)
        }
    }

    /// A page that was placed in the tier could not be moved there: it is in storage. It stays
    /// counted as one that entered.
    pub fn not_taken(&mut self, page: Page) {
        if self.cache.remove(page) {
            self.admission.left(page);
            if self.was_stale(page) {
                self.write(page);
            }
        }
    }

    /// Takes over a page that another run of the tier held, and of which storage may have an old
    /// copy. The page that leaves may be the page itself.
    pub fn resume(&mut self, page: Page) -> Option<Left> {
        if self.cache.contains(page) {
            return None;
        }
        let left = match self.cache.admit(page) {
            Some(left) if left == page => return Some(Left { page, stale: true }),
            left => left.map(|left| self.leave(left)),
        };
        self.admission.entered(page);
        self.becomes_stale(page);
        left
    }

    /// A page was freed.
    pub fn gone(&mut self, page: Page) {
        if self.cache.remove(page) {
            self.admission.left(page);
            self.was_stale(page);
        }
        self.admission.gone(page);
    }

    /// Reads and writes so far.
    pub fn traffic(&self) -> &Traffic {
        &self.traffic
    }

    /// The memory that it takes, in bytes.
    pub fn bytes(&self) -> usize {
        self.cache.bytes() + self.admission.bytes() + self.stale.bytes()
    }

    /// Pages that the rule admitted and a write budget rejected.
    pub fn over_budget(&self) -> u64 {
        self.admission.over_budget()
    }

    /// Admits `page` if the rule and the policy do, evicting another if needed.
    fn enter(&mut self, page: Page, at: Nanos, dirty: bool) -> Placed {
        let eviction = Eviction { page, dirty, at };
        if !self.admission.admits(eviction) {
            return Placed::STORAGE;
        }
        let left = match self.cache.admit(page) {
            Some(left) if left == page => return Placed::STORAGE,
            Some(left) => Some(self.leave(left)),
            None => None,
        };
        self.admission.entered(page);
        self.traffic.tier_writes += 1;
        self.traffic.entered += 1;
        Placed { level: Level::Tier, left }
    }

    /// A page has left the tier: it is written to storage if the copy there is stale.
    fn leave(&mut self, page: Page) -> Left {
        self.admission.left(page);
        let stale = self.was_stale(page);
        if stale {
            self.write(page);
        }
        Left { page, stale }
    }

    /// Marks the copy in storage of a page of the tier as stale.
    fn becomes_stale(&mut self, page: Page) {
        if !self.stale.get(page) {
            self.stale.set(page);
            self.traffic.left_dirty += 1;
        }
    }

    /// Clears that mark of a page that leaves the tier. Returns whether it was set.
    fn was_stale(&mut self, page: Page) -> bool {
        let was = self.stale.get(page);
        if was {
            self.stale.clear(page);
            self.traffic.left_dirty -= 1;
        }
        was
    }

    fn write(&mut self, page: Page) {
        self.traffic.storage_writes += 1;
        self.note(page);
    }

    fn note(&mut self, page: Page) {
        if let Some(per_page) = &mut self.per_page {
            per_page.note(page);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::admission::{Always, SecondEviction};
    use crate::page::Space;
    use crate::replacement::Lru;

    const NOW: Nanos = Nanos::ZERO;

    fn tier<A: Admission>(capacity: u64, admission: A) -> Tier<Lru, A> {
        Tier::new(Lru::new(Space::new(capacity, 10).unwrap()), admission)
    }

    #[test]
    fn a_stale_page_is_written_back_and_a_clean_one_is_not() {
        let mut tier = tier(1, Always);
        tier.page_out(Page(1), NOW);
        tier.clean_drop(Page(2), NOW);
        let traffic = *tier.traffic();
        assert_eq!((traffic.tier_writes, traffic.storage_writes), (2, 1), "1 was stale");
        tier.page_out(Page(3), NOW);
        assert_eq!(tier.traffic().storage_writes, 1, "2 was not");
        assert_eq!(tier.traffic().left_dirty, 1, "3 is still to be written");
        assert_eq!(tier.page_in(Page(3), NOW), Level::Tier);
        assert_eq!(tier.page_in(Page(1), NOW), Level::Storage);
    }

    #[test]
    fn a_page_that_it_holds_is_dropped_for_nothing_and_written_over_in_place() {
        let mut tier = tier(2, Always);
        tier.clean_drop(Page(1), NOW);
        tier.page_in(Page(1), NOW);
        tier.clean_drop(Page(1), NOW);
        assert_eq!((tier.traffic().tier_writes, tier.traffic().storage_ios()), (1, 0));
        tier.page_out(Page(1), NOW);
        assert_eq!((tier.traffic().tier_writes, tier.traffic().storage_ios()), (2, 0));
    }

    #[test]
    fn the_papers_rule_admits_a_page_at_its_second_eviction() {
        let mut tier = tier(2, SecondEviction::new(10));
        tier.page_out(Page(1), NOW);
        assert_eq!((tier.traffic().tier_writes, tier.traffic().storage_writes), (0, 1));
        assert_eq!(tier.page_in(Page(1), NOW), Level::Storage);
        tier.clean_drop(Page(1), NOW);
        assert_eq!(tier.traffic().tier_writes, 1);
        assert_eq!(tier.page_in(Page(1), NOW), Level::Tier);
    }

    #[test]
    fn a_dropped_page_is_no_request() {
        let mut tier = tier(2, Always);
        tier.page_out(Page(1), NOW);
        tier.page_out(Page(2), NOW);
        tier.clean_drop(Page(1), NOW);
        tier.page_out(Page(3), NOW);
        assert_eq!(tier.page_in(Page(2), NOW), Level::Tier);
        assert_eq!(tier.page_in(Page(1), NOW), Level::Storage, "it was requested longest ago");
    }

    #[test]
    fn a_page_that_is_gone_leaves_room_and_is_not_written_back() {
        let mut tier = tier(1, SecondEviction::new(10));
        tier.page_out(Page(1), NOW);
        tier.page_out(Page(1), NOW);
        assert_eq!(tier.traffic().left_dirty, 1);
        tier.gone(Page(1));
        assert_eq!(tier.traffic().left_dirty, 0, "a freed page is never written");
        tier.page_out(Page(1), NOW);
        assert_eq!(tier.traffic().storage_writes, 2, "its history was forgotten");
        assert_eq!((tier.traffic().tier_writes, tier.traffic().entered), (1, 1));
    }
}
