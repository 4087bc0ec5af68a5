//! Memory over storage: which touches of pages wait for a page-in, and which pages are evicted for
//! them.
//!
//! - An anonymous page is filled with zeros at its first touch, without I/O. It has no copy below,
//!   so it is dirty from the beginning.
//! - A file page has a copy below from the beginning.
//! - A page that comes back after an eviction is clean. Its copy below stays valid until the page
//!   is changed.
//! - A dirty page that is evicted is written; a clean one is dropped.

mod generational;
mod named;
mod readahead;
mod two_list;

pub use generational::Generational;
pub use named::{MemoryPolicy, UnknownMemoryPolicy};
pub use readahead::Readahead;
pub use two_list::TwoList;

use super::bits::Bits;
use super::page::Page;
use super::replacement::{Clock, Lru, Replacement};

/// Pages that always remain for others than the pinned ones.
const MIN: u32 = 64;

/// The cause of the wait of a touch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fault {
    /// No wait: the page was in memory.
    None,
    /// A page of zeros.
    First,
    /// A page-in from below.
    PageIn,
}

/// A page that left memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Evicted {
    /// The page's number, dense from 0.
    pub page: Page,
    /// Whether the page has to be written.
    pub dirty: bool,
}

/// The result of a touch of a page.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Touched {
    /// The cause of its wait.
    pub fault: Fault,
    /// The page that was evicted for it.
    pub evicted: Option<Evicted>,
}

/// A replacement policy of memory, which can evict a page although none comes in.
pub trait Reclaim: Replacement {
    /// Evicts the next page; `None` if there is none.
    fn reclaim(&mut self) -> Option<Page>;
}

impl Reclaim for Lru {
    fn reclaim(&mut self) -> Option<Page> {
        self.evict()
    }
}

impl Reclaim for Clock {
    fn reclaim(&mut self) -> Option<Page> {
        self.take_out()
    }
}

/// Memory under a replacement policy.
pub struct Memory<R> {
    cache: R,
    /// Pages of memory that are pinned.
    pinned: u32,
    dirty: Bits,
    /// Pages with a copy below.
    below: Bits,
}

impl<R: Reclaim> Memory<R> {
    /// Empty memory. The pages of `of_file` have a copy below from the beginning.
    pub fn new(cache: R, of_file: impl Iterator<Item = Page>) -> Self {
        let footprint = cache.space().footprint();
        let mut below = Bits::new(footprint);
        for page in of_file {
            below.set(page);
        }
        Self { cache, pinned: 0, dirty: Bits::new(footprint), below }
    }

    /// A program reads or changes a page.
    pub fn touch(&mut self, page: Page, change: bool) -> Touched {
        if self.cache.contains(page) {
            self.cache.hit(page);
            if change {
                self.dirty.set(page);
            }
            return Touched { fault: Fault::None, evicted: None };
        }
        let fault = if self.below.get(page) { Fault::PageIn } else { Fault::First };
        if change || fault == Fault::First {
            self.dirty.set(page);
        }
        Touched { fault, evicted: self.fault_in(page) }
    }

    /// Reads a page ahead if it has a copy below and is not in memory; `None` otherwise.
    pub fn prefetch(&mut self, page: Page) -> Option<Option<Evicted>> {
        let comes = self.below.get(page) && !self.cache.contains(page);
        comes.then(|| self.fault_in(page))
    }

    /// Frees an anonymous page. Returns whether there was a copy below.
    pub fn discard(&mut self, page: Page) -> bool {
        self.cache.remove(page);
        self.dirty.clear(page);
        let was_below = self.below.get(page);
        self.below.clear(page);
        was_below
    }

    /// A program writes a file page, which is in storage at once. Returns the page that is evicted
    /// for it.
    pub fn write_through(&mut self, page: Page) -> Option<Evicted> {
        self.below.set(page);
        self.dirty.clear(page);
        if self.cache.contains(page) {
            self.cache.hit(page);
            return None;
        }
        self.fault_in(page)
    }

    /// Pins another `pages` pages. Some pages always remain for others.
    pub fn pin(&mut self, pages: u32) {
        self.pinned = self.pinned.saturating_add(pages);
    }

    /// Unpins `pages` pages.
    pub fn unpin(&mut self, pages: u32) {
        self.pinned = self.pinned.saturating_sub(pages);
    }

    /// Evicts a page for which the pinned pages leave no room; `None` if all fit.
    pub fn squeeze(&mut self) -> Option<Evicted> {
        let room = self.cache.space().capacity().saturating_sub(self.pinned).max(MIN);
        if self.cache.len() <= room {
            return None;
        }
        let left = self.cache.reclaim()?;
        Some(self.left(left))
    }

    /// Whether the page is in memory.
    pub fn contains(&self, page: Page) -> bool {
        self.cache.contains(page)
    }

    /// The memory that the model takes, in bytes.
    pub fn bytes(&self) -> usize {
        self.cache.bytes() + self.dirty.bytes() + self.below.bytes()
    }

    fn fault_in(&mut self, page: Page) -> Option<Evicted> {
        let left = self.cache.admit(page)?;
        Some(self.left(left))
    }

    fn left(&mut self, page: Page) -> Evicted {
        let dirty = self.dirty.get(page);
        self.dirty.clear(page);
        self.below.set(page);
        Evicted { page, dirty }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::page::Space;
    use crate::replacement::Lru;

    fn memory(capacity: u64) -> Memory<Lru> {
        let lru = Lru::new(Space::new(capacity, 10).unwrap());
        Memory::new(lru, [Page(8), Page(9)].into_iter())
    }

    fn touch(memory: &mut Memory<Lru>, page: u32, change: bool) -> (Fault, Option<(u32, bool)>) {
        let touched = memory.touch(Page(page), change);
        (touched.fault, touched.evicted.map(|evicted| (evicted.page.0, evicted.dirty)))
    }

    #[test]
    fn an_anonymous_page_is_written_once_and_then_dropped_until_it_is_changed() {
        let mut memory = memory(1);
        assert_eq!(touch(&mut memory, 1, false), (Fault::First, None));
        assert_eq!(touch(&mut memory, 2, false), (Fault::First, Some((1, true))));
        assert_eq!(touch(&mut memory, 1, false), (Fault::PageIn, Some((2, true))));
        assert_eq!(touch(&mut memory, 2, false), (Fault::PageIn, Some((1, false))));
        assert_eq!(touch(&mut memory, 1, true), (Fault::PageIn, Some((2, false))));
        assert_eq!(touch(&mut memory, 2, false), (Fault::PageIn, Some((1, true))));
    }

    #[test]
    fn a_page_of_a_file_comes_from_below_at_its_first_touch() {
        let mut memory = memory(1);
        assert_eq!(touch(&mut memory, 8, false), (Fault::PageIn, None));
        assert_eq!(touch(&mut memory, 8, true), (Fault::None, None));
        assert_eq!(touch(&mut memory, 9, false), (Fault::PageIn, Some((8, true))));
    }

    #[test]
    fn a_discarded_page_begins_anew() {
        let mut memory = memory(2);
        touch(&mut memory, 1, false);
        memory.discard(Page(1));
        assert!(!memory.contains(Page(1)));
        assert_eq!(touch(&mut memory, 1, false), (Fault::First, None));
    }

    #[test]
    fn only_pages_with_a_copy_below_are_read_ahead() {
        let mut memory = memory(1);
        assert_eq!(memory.prefetch(Page(1)), None);
        assert_eq!(memory.prefetch(Page(8)), Some(None));
        assert_eq!(memory.prefetch(Page(8)), None);
        let evicted = Evicted { page: Page(8), dirty: false };
        assert_eq!(memory.prefetch(Page(9)), Some(Some(evicted)));
    }
}
