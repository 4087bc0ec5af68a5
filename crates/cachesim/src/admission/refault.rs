//! Admits pages that came back sooner than the page of the tier that stays away for the longest.
//!
//! While there is room, a page may enter at its second eviction, as in the paper. Once the tier is
//! full, the rule asks more: a page may enter at its next eviction if it came back while the tier
//! held a page that was evicted before it and still stays away. In the place of that page it would
//! have been found in the tier. Linux uses the same criterion one level up to recognise file pages
//! that it evicted too early (`mm/workingset.c`); LIRS uses it for the pages of a cache (Jiang &
//! Zhang, SIGMETRICS 2002). Pages that all come back after the same long time leave each other
//! alone, so a part of them is kept. The paper's rule replaces each by the next and keeps none
//! until it is needed.
//!
//! Each page takes four bits: the span of time in which it was last evicted, or whether it came
//! back soon. Only the order of evictions matters, so spans may have any length. They become longer
//! while the oldest page is older than the distinguishable spans, and shorter while all pages are
//! young.

use unjank_units::Nanos;

use super::spans::{LAST, LONG_AGO, Spans, Time, is_time};
use super::{Admission, Eviction};
use crate::nibbles::Nibbles;
use crate::page::{Page, Space};
use crate::tier::Level;

/// The page was never evicted. States between this and [`LATE`] are a [`Time`].
const NEVER: u8 = 0;
/// The page came back to memory, late or soon.
const LATE: u8 = 14;
const SOON: u8 = 15;

/// A number of pages for each [`Time`].
#[derive(Debug, Clone, Default)]
struct Held {
    pages: [u32; LAST as usize + 1],
    /// A bit for each time that has a page.
    times: u16,
}

impl Held {
    fn has(&self, time: Time) -> bool {
        self.pages[usize::from(time)] > 0
    }

    fn add(&mut self, time: Time, pages: u32) {
        self.pages[usize::from(time)] += pages;
        self.times |= u16::from(self.has(time)) << time;
    }

    fn remove(&mut self, time: Time, pages: u32) {
        self.pages[usize::from(time)] -= pages;
        self.times &= !(u16::from(!self.has(time)) << time);
    }

    /// All pages of a time, which has none from now on.
    fn take(&mut self, time: Time) -> u32 {
        let pages = self.pages[usize::from(time)];
        self.remove(time, pages);
        pages
    }
}

/// Remembers when pages were evicted.
#[derive(Debug, Clone)]
pub struct Refault {
    states: Nibbles,
    spans: Spans,
    /// How many pages of the tier are not in memory, by the time of their last eviction.
    held: Held,
    /// Pages that the tier can still take.
    free: u32,
}

impl Refault {
    /// The rule for an empty tier.
    pub fn new(tier: Space) -> Self {
        Self {
            states: Nibbles::new(tier.footprint()),
            spans: Spans::new(tier.footprint(), tier.capacity() / 4),
            held: Held::default(),
            free: tier.capacity(),
        }
    }

    /// The time of eviction of the page of the tier that stays away for the longest.
    fn oldest(&self) -> Time {
        if self.held.has(LONG_AGO) {
            return LONG_AGO;
        }
        self.spans.oldest_of(self.held.times).unwrap_or(self.spans.now())
    }

    /// Memory has evicted a page of the tier.
    fn note(&mut self, page: Page) {
        self.forget(page);
        self.held.add(self.spans.now(), 1);
        self.states.set(page, self.spans.now());
    }

    /// A page of the tier is in memory again, or has left.
    fn forget(&mut self, page: Page) {
        let state = self.states.get(page);
        if is_time(state) {
            self.held.remove(self.spans.seen_from_now(state), 1);
        }
    }

    /// Advances the clock by one eviction.
    fn pass(&mut self) {
        let Some(past) = self.spans.pass(&mut self.states) else { return };
        let old = self.held.take(past);
        self.held.add(LONG_AGO, old);
        if self.held.has(LONG_AGO) {
            self.spans.double();
        } else if self.spans.oldest_first().take(5).all(|time| !self.held.has(time)) {
            self.spans.halve();
        }
    }
}

impl Admission for Refault {
    fn admits(&mut self, eviction: Eviction) -> bool {
        let state = self.states.get(eviction.page);
        // Admitted or not, what counts next is when the page comes back.
        self.states.set(eviction.page, self.spans.now());
        self.pass();
        state == SOON || state != NEVER && self.free > 0
    }

    fn entered(&mut self, page: Page) {
        self.free -= 1;
        self.held.add(self.spans.now(), 1);
        self.states.set(page, self.spans.now());
    }

    fn left(&mut self, page: Page) {
        self.free += 1;
        self.forget(page);
    }

    fn requested(&mut self, page: Page, found: Level, _: Nanos) {
        let state = self.states.get(page);
        if is_time(state) {
            let soon = self.spans.is_after(state, self.oldest());
            if found == Level::Tier {
                self.forget(page);
            }
            self.states.set(page, if soon { SOON } else { LATE });
        }
    }

    fn rewritten(&mut self, page: Page, _: Nanos) {
        self.note(page);
        self.pass();
    }

    fn dropped(&mut self, page: Page, _: Nanos) {
        self.note(page);
        self.pass();
    }

    fn gone(&mut self, page: Page) {
        self.states.set(page, NEVER);
    }

    fn bytes(&self) -> usize {
        self.states.bytes()
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::replacement::{Lru, Replacement};
    use crate::tier::Tier;

    const NOW: Nanos = Nanos::ZERO;

    fn tier(capacity: u64, footprint: u64) -> Tier<Lru, Refault> {
        let space = Space::new(capacity, footprint).unwrap();
        Tier::new(Lru::new(space), Refault::new(space))
    }

    /// Brings a page in and drops it at once. Returns where it was found.
    fn visit(tier: &mut Tier<Lru, Refault>, page: u32) -> Level {
        let found = tier.page_in(Page(page), NOW);
        tier.clean_drop(Page(page), NOW);
        found
    }

    #[test]
    fn the_second_eviction_is_enough_while_there_is_room() {
        let mut tier = tier(2, 100);
        let mut found = |page| visit(&mut tier, page);
        assert_eq!([1, 1, 1].map(&mut found), [Level::Storage, Level::Storage, Level::Tier]);
        assert_eq!([2, 2, 2].map(&mut found), [Level::Storage, Level::Storage, Level::Tier]);
        assert_eq!([3, 1, 2].map(found), [Level::Storage, Level::Tier, Level::Tier]);
    }

    #[test]
    fn a_page_that_comes_back_sooner_than_the_oldest_takes_its_place() {
        let mut tier = tier(2, 100);
        for page in [1, 1, 2, 2] {
            visit(&mut tier, page);
        }
        for _ in 0..3 {
            visit(&mut tier, 3);
            visit(&mut tier, 2);
        }
        assert_eq!(visit(&mut tier, 3), Level::Tier);
        assert_eq!(visit(&mut tier, 2), Level::Tier);
        assert_eq!(tier.page_in(Page(1), NOW), Level::Storage, "1 stayed away");
    }

    #[test]
    fn a_part_of_a_loop_is_kept() {
        let mut tier = tier(50, 100);
        for _ in 0..100 {
            for page in 0..100 {
                visit(&mut tier, page);
            }
        }
        let traffic = *tier.traffic();
        assert!(traffic.tier_reads > 98 * 40, "LRU alone would find none: {traffic:?}");
        assert!(traffic.tier_writes < 300, "{traffic:?}");
    }

    #[test]
    fn it_remembers_in_four_bits() {
        assert_eq!(Refault::new(Space::new(5, 1_000).unwrap()).bytes(), 500);
    }

    proptest! {
        #[test]
        fn the_counts_match_the_pages_of_the_tier(
            capacity in 1_u64..40,
            events in prop::collection::vec((0_u32..80, 0_u8..8), 1..3_000),
        ) {
            let space = Space::new(capacity, 80).unwrap();
            let (mut cache, mut rule) = (Lru::new(space), Refault::new(space));
            let mut in_memory = [false; 80];
            for (page, event) in events {
                let (page, index) = (Page(page), page as usize);
                let found = if cache.contains(page) { Level::Tier } else { Level::Storage };
                if event == 0 {
                    if cache.remove(page) {
                        rule.left(page);
                    }
                    rule.gone(page);
                    in_memory[index] = false;
                } else if !in_memory[index] {
                    rule.requested(page, found, NOW);
                    in_memory[index] = true;
                } else {
                    in_memory[index] = false;
                    if found == Level::Tier {
                        rule.dropped(page, NOW);
                    } else if rule.admits(Eviction { page, dirty: false, at: NOW }) {
                        if let Some(left) = cache.admit(page) {
                            rule.left(left);
                        }
                        rule.entered(page);
                    }
                }
                let held = (0..80).filter(|page| cache.contains(Page(*page)));
                let away = held.filter(|page| !in_memory[*page as usize]).count();
                prop_assert_eq!(rule.held.pages.iter().sum::<u32>() as usize, away);
                prop_assert_eq!(rule.free, space.capacity() - cache.len());
            }
        }
    }
}
