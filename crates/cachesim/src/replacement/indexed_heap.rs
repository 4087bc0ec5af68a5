//! Pages by rank, the lowest first: a binary heap that knows the place of each page.

use crate::page::{Page, Space};

/// The place of a page that is not in the heap.
const NOWHERE: u32 = u32::MAX;

/// A heap of pages with their ranks.
///
/// Four bytes for each page of the footprint, and a page with its rank for each page that fits.
pub(crate) struct IndexedHeap<R> {
    heap: Vec<(R, Page)>,
    places: Box<[u32]>,
}

impl<R: Copy + Ord> IndexedHeap<R> {
    pub(crate) fn new(space: Space) -> Self {
        let most = space.capacity().min(space.footprint()) as usize;
        let places = vec![NOWHERE; space.footprint() as usize].into_boxed_slice();
        Self { heap: Vec::with_capacity(most), places }
    }

    pub(crate) fn contains(&self, page: Page) -> bool {
        self.places[page.index()] != NOWHERE
    }

    pub(crate) fn len(&self) -> u32 {
        self.heap.len() as u32
    }

    /// Adds a page, or changes its rank.
    pub(crate) fn set(&mut self, page: Page, rank: R) {
        let place = match self.places[page.index()] {
            NOWHERE => {
                self.heap.push((rank, page));
                self.heap.len() - 1
            }
            place => {
                self.heap[place as usize].0 = rank;
                place as usize
            }
        };
        let place = self.sift_up(place);
        self.sift_down(place);
    }

    /// The page of the lowest rank.
    pub(crate) fn first(&self) -> Option<Page> {
        self.heap.first().map(|(_, page)| *page)
    }

    /// Removes the page of the lowest rank.
    pub(crate) fn pop(&mut self) -> Option<(R, Page)> {
        let first = *self.heap.first()?;
        self.take(first.1);
        Some(first)
    }

    /// Removes a page. Returns whether it was there.
    pub(crate) fn take(&mut self, page: Page) -> bool {
        let place = std::mem::replace(&mut self.places[page.index()], NOWHERE);
        if place == NOWHERE {
            return false;
        }
        self.heap.swap_remove(place as usize);
        if (place as usize) < self.heap.len() {
            let place = self.sift_up(place as usize);
            self.sift_down(place);
        }
        true
    }

    /// The memory that it takes, in bytes.
    pub(crate) fn bytes(&self) -> usize {
        self.heap.capacity() * size_of::<(R, Page)>() + size_of_val(&*self.places)
    }

    /// Moves the page at a place up to its place by rank. Returns that place.
    fn sift_up(&mut self, mut place: usize) -> usize {
        while place > 0 {
            let parent = (place - 1) / 2;
            if self.heap[parent].0 <= self.heap[place].0 {
                break;
            }
            self.swap(place, parent);
            place = parent;
        }
        self.note(place);
        place
    }

    /// Moves the page at a place down to its place by rank.
    fn sift_down(&mut self, mut place: usize) {
        loop {
            let children = 2 * place + 1..(2 * place + 3).min(self.heap.len());
            let lower = children.min_by_key(|child| self.heap[*child].0);
            match lower.filter(|lower| self.heap[*lower].0 < self.heap[place].0) {
                Some(lower) => {
                    self.swap(place, lower);
                    place = lower;
                }
                None => break,
            }
        }
        self.note(place);
    }

    /// Swaps two entries and notes the place of the one that was at `to`.
    fn swap(&mut self, from: usize, to: usize) {
        self.heap.swap(from, to);
        self.note(from);
    }

    fn note(&mut self, place: usize) {
        self.places[self.heap[place].1.index()] = place as u32;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pages_leave_by_rank() {
        let mut ranks = IndexedHeap::new(Space::new(100, 100).unwrap());
        let rank = |page: u32| page * 37 % 101;
        for page in 0..100 {
            ranks.set(Page(page), 1_000);
        }
        for page in 0..100 {
            ranks.set(Page(page), rank(page));
        }
        assert!(ranks.take(Page(7)) && !ranks.take(Page(7)) && !ranks.contains(Page(7)));
        assert_eq!(ranks.len(), 99);
        let mut expected: Vec<u32> = (0..100).filter(|page| *page != 7).map(rank).collect();
        expected.sort_unstable();
        let left: Vec<u32> = std::iter::from_fn(|| ranks.pop()).map(|(rank, _)| rank).collect();
        assert_eq!(left, expected);
    }
}
