//! A small fast tier between memory and storage, as Bahn & Kim propose it
//! (JIIBC 23-2-8, 2023): what memory evicts may be kept in it, and what memory
//! asks for is looked for there first.
//!
//! - A page that memory evicts dirty, and that the tier holds, is written over
//!   in place. One that it does not hold enters it if the
//!   [admission](super::admission) lets it, and goes to storage otherwise.
//! - A page that memory drops clean has a current copy below already. If the
//!   tier holds it, nothing happens, and that is no request; otherwise it may
//!   enter, with one write to the tier.
//! - A page-in is a read of the tier if it holds the page, else of storage.
//!   The tier keeps its copy: until memory has changed the page, dropping it
//!   again costs nothing. Nothing enters the tier by a page-in.
//! - A page that leaves the tier is written to storage if the copy there is
//!   stale, and costs nothing otherwise.
//! - A page whose content is gone (its process has ended, its slot was freed)
//!   leaves at once, without a write; what was known of it is forgotten.
//! - A trace ends while the tier holds pages whose copy in storage is stale.
//!   Their writes are still to come, and are counted apart
//!   ([`Traffic::left_dirty`]).

mod choice;
mod found;
mod named;
mod replay;
mod traffic;

pub use choice::{CHEAP_WRITE, FAIR_WRITE};
pub use found::Found;
pub use named::{Replayed, Rule, TierPolicy, UnknownTierPolicy};
pub use replay::Waits;
pub use traffic::{PerPage, Traffic};

use unjank_units::Nanos;

use super::admission::{Admission, Eviction};
use super::bits::Bits;
use super::page::Page;
use super::replacement::Replacement;

/// The tier, with who enters and who leaves.
pub struct Tier<R, A> {
    cache: R,
    admission: A,
    /// Pages of the tier whose copy in storage is older.
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

    /// These counts; `None` if nobody asked for them.
    pub fn per_page(&self) -> Option<&PerPage> {
        self.per_page.as_ref()
    }

    /// A page is written to storage past the tier.
    pub fn write_through(&mut self, page: Page) {
        self.write(page);
    }

    /// Memory asks for a page.
    pub fn page_in(&mut self, page: Page, at: Nanos) -> Found {
        self.traffic.page_ins += 1;
        let found = if self.cache.contains(page) { Found::Tier } else { Found::Storage };
        self.admission.requested(page, found, at);
        match found {
            Found::Tier => {
                self.cache.hit(page);
                self.traffic.tier_reads += 1;
            }
            Found::Storage => {
                self.traffic.storage_reads += 1;
                self.note(page);
            }
        }
        found
    }

    /// Memory evicts a page that it has changed.
    pub fn page_out(&mut self, page: Page, at: Nanos) {
        self.traffic.page_outs += 1;
        self.let_leave(at);
        if self.cache.contains(page) {
            self.admission.rewritten(page, at);
            self.cache.hit(page);
            self.traffic.tier_writes += 1;
            self.becomes_stale(page);
        } else if self.enter(page, at, true) {
            self.becomes_stale(page);
        } else {
            self.write(page);
        }
    }

    /// Memory drops a page that is as it came.
    pub fn clean_drop(&mut self, page: Page, at: Nanos) {
        self.traffic.clean_drops += 1;
        self.let_leave(at);
        if self.cache.contains(page) {
            self.admission.dropped(page, at);
        } else {
            self.enter(page, at, false);
        }
    }

    /// The content of a page is gone.
    pub fn gone(&mut self, page: Page) {
        if self.cache.remove(page) {
            self.admission.left(page);
            self.was_stale(page);
        }
        self.admission.gone(page);
    }

    /// What was read and written so far.
    pub fn traffic(&self) -> &Traffic {
        &self.traffic
    }

    /// The memory that it takes, in bytes.
    pub fn bytes(&self) -> usize {
        self.cache.bytes() + self.admission.bytes() + self.stale.bytes()
    }

    /// Pages that a budget kept out, though the rule let them in.
    pub fn over_budget(&self) -> u64 {
        self.admission.over_budget()
    }

    /// Whether `page` has entered the tier, for which another may have left.
    fn enter(&mut self, page: Page, at: Nanos, dirty: bool) -> bool {
        let eviction = Eviction { page, dirty, at };
        if !self.admission.admits(eviction) {
            return false;
        }
        match self.cache.admit(page) {
            Some(left) if left == page => return false,
            Some(left) => self.leave(left),
            None => {}
        }
        self.admission.entered(page);
        self.traffic.tier_writes += 1;
        self.traffic.entered += 1;
        true
    }

    /// Writes back what its rule does not keep.
    fn let_leave(&mut self, at: Nanos) {
        while let Some(page) = self.admission.leaves(at) {
            if self.cache.remove(page) {
                self.leave(page);
            }
        }
    }

    /// A page has left the tier for storage.
    fn leave(&mut self, page: Page) {
        self.admission.left(page);
        if self.was_stale(page) {
            self.write(page);
        }
    }

    /// The copy of a page of the tier is newer than that in storage.
    fn becomes_stale(&mut self, page: Page) {
        if !self.stale.get(page) {
            self.stale.set(page);
            self.traffic.left_dirty += 1;
        }
    }

    /// Whether that was so of a page that leaves the tier.
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
        assert_eq!(tier.page_in(Page(3), NOW), Found::Tier);
        assert_eq!(tier.page_in(Page(1), NOW), Found::Storage);
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
    fn the_papers_rule_lets_in_what_is_evicted_a_second_time() {
        let mut tier = tier(2, SecondEviction::new(10));
        tier.page_out(Page(1), NOW);
        assert_eq!((tier.traffic().tier_writes, tier.traffic().storage_writes), (0, 1));
        assert_eq!(tier.page_in(Page(1), NOW), Found::Storage);
        tier.clean_drop(Page(1), NOW);
        assert_eq!(tier.traffic().tier_writes, 1);
        assert_eq!(tier.page_in(Page(1), NOW), Found::Tier);
    }

    #[test]
    fn a_dropped_page_is_no_request() {
        let mut tier = tier(2, Always);
        tier.page_out(Page(1), NOW);
        tier.page_out(Page(2), NOW);
        tier.clean_drop(Page(1), NOW);
        tier.page_out(Page(3), NOW);
        assert_eq!(tier.page_in(Page(2), NOW), Found::Tier);
        assert_eq!(tier.page_in(Page(1), NOW), Found::Storage, "it was requested longest ago");
    }

    #[test]
    fn a_page_that_is_gone_leaves_room_and_is_not_written_back() {
        let mut tier = tier(1, SecondEviction::new(10));
        tier.page_out(Page(1), NOW);
        tier.page_out(Page(1), NOW);
        assert_eq!(tier.traffic().left_dirty, 1);
        tier.gone(Page(1));
        assert_eq!(tier.traffic().left_dirty, 0, "nobody needs it any more");
        tier.page_out(Page(1), NOW);
        assert_eq!(tier.traffic().storage_writes, 2, "its first eviction, as far as is known");
        assert_eq!((tier.traffic().tier_writes, tier.traffic().entered), (1, 1));
    }
}
