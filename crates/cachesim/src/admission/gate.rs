//! Admits pages that were evicted more often than the pages that would fill the tier.
//!
//! Each page has a counter of four bits. A histogram of the counts gives the least count with which
//! a page is among the most evicted ones that fit: that is the gate. Counts are halved one page at
//! a time, at evictions, so that pages that were hot long ago give way and every eviction takes
//! constant time.

use super::{Admission, Eviction};
use crate::nibbles::Nibbles;
use crate::page::Page;

/// The largest count.
const MAX: u8 = 15;

/// Counts evictions of each page.
#[derive(Debug, Clone)]
pub struct Gate {
    counts: Nibbles,
    footprint: u32,
    capacity: u32,
    /// How many pages have each count.
    pages_with: [u32; MAX as usize + 1],
    /// The next page whose count is halved.
    hand: u32,
    /// Evictions until it is.
    until_next: u32,
    every: u32,
}

impl Gate {
    /// A gate for a tier with room for `capacity` of `footprint` pages. All counts are halved once
    /// while each page is evicted `life` times on average.
    pub fn new(footprint: u32, capacity: u32, life: u32) -> Self {
        let mut pages_with = [0; MAX as usize + 1];
        pages_with[0] = footprint;
        let every = life.max(1);
        Self {
            counts: Nibbles::new(footprint),
            footprint,
            capacity,
            pages_with,
            hand: 0,
            until_next: every,
            every,
        }
    }

    /// The least count with which a page may enter: two, as in the paper, or more while more pages
    /// than fit were evicted twice.
    pub fn least(&self) -> u8 {
        let mut pages = 0;
        for count in (2..=MAX).rev() {
            pages += self.pages_with[usize::from(count)];
            if pages > self.capacity {
                return (count + 1).min(MAX);
            }
        }
        2
    }

    fn set(&mut self, page: Page, count: u8) {
        let before = self.counts.get(page);
        self.counts.set(page, count);
        self.pages_with[usize::from(before)] -= 1;
        self.pages_with[usize::from(count)] += 1;
    }

    fn evicted(&mut self, page: Page) {
        self.set(page, (self.counts.get(page) + 1).min(MAX));
        self.until_next -= 1;
        if self.until_next == 0 {
            self.until_next = self.every;
            let old = Page(self.hand);
            self.set(old, self.counts.get(old) / 2);
            self.hand = (self.hand + 1) % self.footprint;
        }
    }
}

impl Admission for Gate {
    fn admits(&mut self, eviction: Eviction) -> bool {
        self.evicted(eviction.page);
        self.counts.get(eviction.page) >= self.least()
    }

    fn rewritten(&mut self, page: Page, _: unjank_units::Nanos) {
        self.evicted(page);
    }

    fn gone(&mut self, page: Page) {
        self.set(page, 0);
    }

    fn bytes(&self) -> usize {
        self.counts.bytes()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::admission::tests::evict;

    #[test]
    fn a_second_eviction_is_enough_while_there_is_room() {
        let mut gate = Gate::new(10, 2, 100);
        assert!(!evict(&mut gate, 1) && evict(&mut gate, 1));
        assert!(!evict(&mut gate, 2) && evict(&mut gate, 2));
        assert!(!evict(&mut gate, 3));
        assert!(!evict(&mut gate, 3), "three pages have two, and two fit");
        assert!(evict(&mut gate, 3));
    }

    #[test]
    fn counts_are_halved_in_turn_and_forgotten_with_their_page() {
        let mut gate = Gate::new(3, 3, 2);
        for _ in 0..20 {
            evict(&mut gate, 1);
        }
        // Halved at the evictions 4, 10 and 16: 4 to 2, 8 to 4, 10 to 5.
        assert_eq!(gate.counts.get(Page(1)), 9);
        gate.gone(Page(1));
        assert_eq!((gate.counts.get(Page(1)), gate.pages_with[0]), (0, 3));
        assert_eq!(gate.bytes(), 2, "four bits a page");
    }
}
