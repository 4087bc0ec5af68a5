//! Pages for content that must not spread: they are neither swapped out nor in a core dump.

use std::slice;

use super::{Mapping, page_size};
use crate::error::{Error, Result};

/// Anonymous pages, locked in memory until they are dropped.
#[derive(Debug)]
pub struct LockedPages {
    mapping: Mapping,
    page: usize,
}

impl LockedPages {
    /// Maps and locks so many pages of zeros.
    ///
    /// # Errors
    /// `Invalid` for no pages; the kernel's error: too little memory, or `RLIMIT_MEMLOCK`.
    pub fn new(pages: usize) -> Result<Self> {
        if pages == 0 {
            return Err(Error::Invalid("at least one page must be mapped".to_owned()));
        }
        let mapping = Mapping::anonymous(pages)?;
        mapping.lock()?;
        Ok(Self { mapping, page: page_size().get() as usize })
    }

    /// The number of pages.
    pub fn pages(&self) -> usize {
        self.mapping.pages()
    }

    /// The content of `count` pages from `index` on.
    ///
    /// # Panics
    /// If there are fewer.
    pub fn get(&self, index: usize, count: usize) -> &[u8] {
        let start = self.start(index, count);
        // SAFETY: the pages are in the mapping, which lives as long as `self`.
        unsafe { slice::from_raw_parts(start, count * self.page) }
    }

    /// As [`get`](Self::get), to be changed.
    ///
    /// # Panics
    /// If there are fewer.
    pub fn get_mut(&mut self, index: usize, count: usize) -> &mut [u8] {
        let start = self.start(index, count);
        // SAFETY: as in `get`, and `self` is borrowed exclusively.
        unsafe { slice::from_raw_parts_mut(start, count * self.page) }
    }

    fn start(&self, index: usize, count: usize) -> *mut u8 {
        let end = index.checked_add(count);
        let is_there = end.is_some_and(|end| end <= self.pages());
        assert!(is_there, "page {index} + {count} is not there");
        // SAFETY: the page is in the mapping, or just behind it.
        unsafe { self.mapping.start().add(index * self.page) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pages_have_the_content_that_was_written() {
        let mut pages = LockedPages::new(3).unwrap();
        let page = page_size().get() as usize;
        pages.get_mut(1, 1).fill(7);
        assert_eq!(pages.get(1, 1), vec![7; page]);
        assert_eq!(pages.get(2, 1), vec![0; page]);
        assert!(pages.get(0, 1).as_ptr().addr().is_multiple_of(page));
        assert!(LockedPages::new(0).is_err());
    }

    #[test]
    #[should_panic(expected = "page 1 + 2 is not there")]
    fn pages_beyond_the_end_are_not_reached() {
        LockedPages::new(2).unwrap().get(1, 2);
    }
}
