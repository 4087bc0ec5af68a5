//! LRU stack distances: how many other pages were requested since the last request for a page.
//!
//! Source: Mattson, Gecsei, Slutz, Traiger, *Evaluation techniques for storage
//! hierarchies*, IBM Systems Journal 1970.

use super::recency::Recency;
use crate::page::Page;

const NONE: u32 = u32::MAX;

/// Each page holds the slot of its last request. Slots are in the order of time.
///
/// When all slots are used up, the held ones are compacted. There are two slots per page, so this
/// happens at most once in as many requests as there are pages.
///
/// A page beyond the footprint doubles the room.
pub struct StackDistance {
    slots: Vec<u32>,
    recency: Recency,
    ranks: Vec<u32>,
    /// The slot of the next request.
    next: usize,
    live: usize,
}

impl StackDistance {
    /// No requests so far, for pages below the footprint.
    pub fn new(footprint: u32) -> Self {
        let recency = Recency::new(2 * footprint as usize);
        Self {
            slots: vec![NONE; footprint as usize],
            ranks: vec![0; recency.slots().div_ceil(64)],
            recency,
            next: 0,
            live: 0,
        }
    }

    /// Takes a request and returns its stack distance; `None` for the first request of a page.
    ///
    /// An LRU cache with room for more pages than that would have hit.
    pub fn request(&mut self, page: Page) -> Option<u32> {
        if page.index() >= self.slots.len() {
            self.grow(page.index() + 1);
        }
        if self.next == self.recency.slots() {
            self.compact();
        }
        let now = self.next as u32;
        let last = std::mem::replace(&mut self.slots[page.index()], now);
        let distance = if last == NONE {
            self.live += 1;
            None
        } else {
            let distance = self.recency.after(last as usize, self.next);
            self.recency.free(last as usize);
            Some(distance)
        };
        self.recency.take(self.next);
        self.next += 1;
        distance
    }

    /// The memory that it takes, in bytes.
    pub fn bytes(&self) -> usize {
        size_of_val(&*self.slots) + size_of_val(&*self.ranks) + self.recency.bytes()
    }

    /// Makes room for at least this many pages.
    #[cold]
    fn grow(&mut self, pages: usize) {
        self.compact();
        let pages = pages.max(2 * self.slots.len());
        self.slots.resize(pages, NONE);
        self.recency = Recency::new(2 * pages);
        self.ranks = vec![0; self.recency.slots().div_ceil(64)];
        self.recency.take_first(self.live);
    }

    #[cold]
    fn compact(&mut self) {
        self.recency.ranks(&mut self.ranks);
        for slot in self.slots.iter_mut().filter(|slot| **slot != NONE) {
            *slot = self.recency.rank(*slot as usize, &self.ranks);
        }
        self.recency.take_first(self.live);
        self.next = self.live;
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Distances in a list that is searched.
    fn holds(pages: &[u32], footprint: u32) {
        let (mut distance, mut recent) = (StackDistance::new(footprint), Vec::new());
        let bytes = distance.bytes();
        for page in pages {
            let at = recent.iter().rev().position(|other| other == page);
            assert_eq!(distance.request(Page(*page)), at.map(|at| at as u32));
            recent.retain(|other| other != page);
            recent.push(*page);
        }
        assert_eq!(distance.bytes(), bytes);
    }

    #[test]
    fn distances_survive_compaction() {
        // More requests than there are slots, several times.
        let pages: Vec<u32> = (0..150_000u64).map(|at| (at * at % 509 % 100) as u32).collect();
        holds(&pages, 100);
    }

    #[test]
    fn more_pages_than_expected_are_taken() {
        let pages: Vec<u32> = (0..20_000u64).map(|at| (at * at % 10_007) as u32).collect();
        let (mut grown, mut known) = (StackDistance::new(0), StackDistance::new(10_007));
        for page in pages {
            assert_eq!(grown.request(Page(page)), known.request(Page(page)));
        }
    }

    proptest! {
        #[test]
        fn distances_are_those_of_a_list(pages in prop::collection::vec(0..60u32, 0..500)) {
            holds(&pages, 60);
        }
    }
}
