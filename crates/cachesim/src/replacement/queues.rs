//! Queues of pages that share one array. Pages enter at the front and leave at the back.
//!
//! The next pages to leave lie side by side in memory, so the processor prefetches them. In a
//! linked list, the address of each is known only when the one before has been read.
//!
//! A page that is removed from the middle leaves a hole, which is skipped later.

use crate::page::Page;

/// An entry without a page.
const HOLE: u32 = u32::MAX;
/// Entries for each page that can be in a queue, times two.
const HALVES: usize = 5;

/// A part of the array, used as a ring buffer.
#[derive(Debug, Clone, Copy, Default)]
struct Ring {
    base: u32,
    capacity: u32,
    /// The offset of the oldest entry from the base.
    back: u32,
    /// Entries, including holes.
    entries: u32,
}

/// `QUEUES` queues that share a capacity in pages; a page is in at most one of them.
pub(crate) struct Queues<const QUEUES: usize> {
    entries: Box<[u32]>,
    rings: [Ring; QUEUES],
    /// The index of each page's entry, needed to remove a page from the middle.
    places: Box<[u32]>,
    /// `places` is kept for the queues from this one on.
    placed_from: usize,
}

impl<const QUEUES: usize> Queues<QUEUES> {
    /// Queues for at most `pages` of `footprint` pages at a time. The places of pages are kept for
    /// the queues from `taken_from` on, and for all queues once a page is taken from the middle of
    /// another one.
    pub(crate) fn new(pages: u32, footprint: u32, taken_from: usize) -> Self {
        let pages = pages.min(footprint).max(1) as usize;
        let mut queues = Self {
            entries: vec![HOLE; pages * HALVES / 2 + 2 * QUEUES].into(),
            rings: [Ring::default(); QUEUES],
            places: vec![0; footprint as usize].into(),
            placed_from: taken_from,
        };
        queues.spread();
        queues
    }

    /// Puts a page at the front.
    pub(crate) fn push(&mut self, queue: usize, page: Page) {
        if self.rings[queue].entries == self.rings[queue].capacity {
            self.make_room();
        }
        let ring = &mut self.rings[queue];
        let at = ring.base + wrapped(ring.back + ring.entries, ring.capacity);
        ring.entries += 1;
        self.entries[at as usize] = page.0;
        if queue >= self.placed_from {
            self.places[page.index()] = at;
        }
    }

    /// Takes the page at the back.
    pub(crate) fn pop(&mut self, queue: usize) -> Option<Page> {
        let ring = &mut self.rings[queue];
        while ring.entries > 0 {
            let page = self.entries[(ring.base + ring.back) as usize];
            ring.back = wrapped(ring.back + 1, ring.capacity);
            ring.entries -= 1;
            if page != HOLE {
                return Some(Page(page));
            }
        }
        None
    }

    /// Removes a page from anywhere in a queue.
    pub(crate) fn take(&mut self, queue: usize, page: Page) {
        if queue < self.placed_from {
            self.placed_from = 0;
            self.note_places();
        }
        self.entries[self.places[page.index()] as usize] = HOLE;
    }

    /// The memory that it takes, in bytes.
    pub(crate) fn bytes(&self) -> usize {
        size_of_val(&*self.entries) + size_of_val(&*self.places)
    }

    /// Compacts all queues to the beginning of the array, without holes, and spreads them again.
    /// The array has 2.5 entries per page, so this takes amortised constant time per push.
    #[cold]
    fn make_room(&mut self) {
        let mut end = 0;
        for ring in &mut self.rings {
            let (base, capacity) = (ring.base as usize, ring.capacity as usize);
            self.entries[base..base + capacity].rotate_left(ring.back as usize);
            let begin = end;
            for at in base..base + ring.entries as usize {
                let page = self.entries[at];
                if page != HOLE {
                    self.entries[end] = page;
                    end += 1;
                }
            }
            *ring =
                Ring { base: begin as u32, capacity: 0, back: 0, entries: (end - begin) as u32 };
        }
        self.spread();
        self.note_places();
    }

    /// Gives each queue an equal share of the free entries, from the last queue on.
    fn spread(&mut self) {
        let taken: u32 = self.rings.iter().map(|ring| ring.entries).sum();
        let share = (self.entries.len() as u32 - taken) / QUEUES as u32;
        let mut end = self.entries.len() as u32;
        for ring in self.rings.iter_mut().rev() {
            let capacity = ring.entries + share;
            let from = ring.base as usize..(ring.base + ring.entries) as usize;
            ring.base = end - capacity;
            ring.capacity = capacity;
            self.entries.copy_within(from, ring.base as usize);
            end = ring.base;
        }
    }

    fn note_places(&mut self) {
        for ring in &self.rings[self.placed_from..] {
            for at in (0..ring.entries).map(|at| ring.base + wrapped(ring.back + at, ring.capacity))
            {
                let page = self.entries[at as usize];
                if page != HOLE {
                    self.places[page as usize] = at;
                }
            }
        }
    }
}

/// Wraps an offset that is less than twice the capacity.
fn wrapped(at: u32, capacity: u32) -> u32 {
    if at >= capacity { at - capacity } else { at }
}

#[cfg(test)]
mod tests {
    use std::collections::VecDeque;

    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn queues_behave_like_deques(
            steps in prop::collection::vec((0..12u32, 0..3usize, 0..10u32), 0..600),
            taken_from in 0..4usize,
        ) {
            let mut queues: Queues<3> = Queues::new(12, 12, taken_from);
            let bytes = queues.bytes();
            let mut naive: [VecDeque<u32>; 3] = Default::default();
            for (page, queue, what) in steps {
                let there = naive.iter().position(|queue| queue.contains(&page));
                match (there, what) {
                    (None, _) => {
                        queues.push(queue, Page(page));
                        naive[queue].push_back(page);
                    }
                    (Some(_), 0..5) => {
                        let popped = queues.pop(queue).map(|page| page.0);
                        prop_assert_eq!(popped, naive[queue].pop_front());
                    }
                    (Some(queue), _) => {
                        queues.take(queue, Page(page));
                        naive[queue].retain(|other| *other != page);
                    }
                }
            }
            prop_assert_eq!(queues.bytes(), bytes);
            for (queue, naive) in naive.iter_mut().enumerate() {
                while let Some(page) = queues.pop(queue) {
                    prop_assert_eq!(Some(page.0), naive.pop_front());
                }
                prop_assert!(naive.is_empty());
            }
        }
    }
}
