//! Linux's generations (multi-gen LRU, `lru_gen`): pages in two to four generations by when they
//! were last seen in use.
//!
//! After `mm/vmscan.c` and `include/linux/mm_inline.h` of 6.12, for mapped pages, without tiers,
//! Bloom filters and the balance between files and swap:
//!
//! - A page that a fault brings in joins the youngest generation.
//! - Eviction takes a page of the oldest generation. A page there that was touched since the last
//!   scan joins the youngest instead.
//! - When fewer than two generations would be left, a walk through the page tables begins a new
//!   youngest generation and moves all pages to it that were touched since the last scan
//!   (`try_to_inc_max_seq`).

use super::Reclaim;
use crate::bits::Bits;
use crate::page::{Page, Space};
use crate::replacement::Replacement;
use crate::replacement::links::Links;

/// `MAX_NR_GENS`.
const MAX: u32 = 4;
/// `MIN_NR_GENS`.
const MIN: u32 = 2;

/// Linux's multi-gen LRU, as a policy of memory: `mm/vmscan.c` of 6.12.
pub struct Generational {
    space: Space,
    links: Links<{ MAX as usize }>,
    len: u32,
    /// The generation of each page, modulo [`MAX`]. The page may still be in the list of an older
    /// one until eviction reaches it (`sort_folio`).
    generation: Box<[u8]>,
    young: Bits,
    oldest: u32,
    youngest: u32,
}

impl Generational {
    /// Empty generations.
    pub fn new(space: Space) -> Self {
        Self {
            space,
            links: Links::new(space),
            len: 0,
            generation: vec![0; space.footprint() as usize].into(),
            young: Bits::new(space.footprint()),
            oldest: 0,
            youngest: MIN - 1,
        }
    }

    fn evict(&mut self) -> Option<Page> {
        if self.len == 0 {
            return None;
        }
        loop {
            let list = self.links.list(self.oldest % MAX);
            let Some(page) = self.links.back(list) else {
                self.oldest += 1;
                if self.youngest + 1 - self.oldest < MIN {
                    self.walk();
                }
                continue;
            };
            let generation = u32::from(self.generation[page.index()]);
            if generation != self.oldest % MAX {
                self.links.move_to_front(self.links.list(generation), page);
            } else if self.young.get(page) {
                self.young.clear(page);
                self.join_youngest(page);
            } else {
                self.links.unlink(page);
                self.len -= 1;
                return Some(page);
            }
        }
    }

    /// Begins a new generation with all pages that were touched.
    fn walk(&mut self) {
        self.youngest += 1;
        let generation = (self.youngest % MAX) as u8;
        let (links, generations) = (&self.links, &mut self.generation);
        self.young.drain(|page| {
            if links.linked(page) {
                generations[page.index()] = generation;
            }
        });
    }

    fn join_youngest(&mut self, page: Page) {
        let number = self.youngest % MAX;
        self.generation[page.index()] = number as u8;
        let list = self.links.list(number);
        if self.links.linked(page) {
            self.links.move_to_front(list, page);
        } else {
            self.links.push_front(list, page);
        }
    }
}

impl Reclaim for Generational {
    fn reclaim(&mut self) -> Option<Page> {
        self.evict()
    }
}

impl Replacement for Generational {
    fn contains(&self, page: Page) -> bool {
        self.links.linked(page)
    }

    fn hit(&mut self, page: Page) {
        self.young.set(page);
    }

    fn admit(&mut self, page: Page) -> Option<Page> {
        let victim = if self.len == self.space.capacity() { self.evict() } else { None };
        self.join_youngest(page);
        self.young.set(page);
        self.len += 1;
        victim
    }

    fn remove(&mut self, page: Page) -> bool {
        let there = self.contains(page);
        if there {
            self.links.unlink(page);
            self.len -= 1;
        }
        self.young.clear(page);
        there
    }

    fn len(&self) -> u32 {
        self.len
    }

    fn space(&self) -> Space {
        self.space
    }

    fn bytes(&self) -> usize {
        self.links.bytes() + size_of_val(&*self.generation) + self.young.bytes()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn generations(capacity: u64) -> Generational {
        Generational::new(Space::new(capacity, 1_000).unwrap())
    }

    fn touch(memory: &mut Generational, page: u32) -> Option<u32> {
        let page = Page(page);
        if memory.contains(page) {
            memory.hit(page);
            return None;
        }
        memory.admit(page).map(|left| left.0)
    }

    #[test]
    fn pages_that_are_touched_once_leave_in_their_order() {
        let mut memory = generations(3);
        let left: Vec<_> = (1..=9).filter_map(|page| touch(&mut memory, page)).collect();
        assert_eq!(left, [1, 2, 3, 4, 5, 6]);
        assert_eq!(memory.len(), 3);
    }

    #[test]
    fn a_page_in_use_survives_a_scan() {
        let mut memory = generations(8);
        for new in 1..500 {
            touch(&mut memory, 0);
            touch(&mut memory, new);
        }
        assert!(memory.contains(Page(0)));
    }

    #[test]
    fn a_page_that_is_not_used_any_more_leaves() {
        let mut memory = generations(8);
        for page in (0..8).cycle().take(80) {
            touch(&mut memory, page);
        }
        for new in 8..40 {
            touch(&mut memory, new);
        }
        assert!((0..8).all(|page| !memory.contains(Page(page))));
        assert_eq!(memory.len(), 8);
    }

    #[test]
    fn there_are_two_to_four_generations() {
        let mut memory = generations(16);
        for step in 0..5_000_u32 {
            touch(&mut memory, step.wrapping_mul(2_654_435_761) % 40);
            let generations = memory.youngest + 1 - memory.oldest;
            assert!((MIN..=MAX).contains(&generations), "{generations}");
            assert!(memory.len() <= 16);
        }
        while memory.reclaim().is_some() {}
        assert!(memory.is_empty());
    }
}
