//! Pages for content that must not spread: they are neither swapped out nor in a core dump.

use std::ffi::c_void;
use std::ptr;
use std::slice;

use rustix::mm::{Advice, MapFlags, ProtFlags, madvise, mlock, mmap_anonymous, munmap};

use super::page_size;
use crate::error::{Error, Result};

/// Anonymous pages, locked in memory until they are dropped.
#[derive(Debug)]
pub struct LockedPages {
    start: *mut u8,
    page: usize,
    pages: usize,
}

// SAFETY: the mapping belongs to this value alone, and memory is not tied to
// the thread that mapped it.
unsafe impl Send for LockedPages {}

impl LockedPages {
    /// Maps and locks so many pages of zeros.
    ///
    /// # Errors
    /// `Invalid` for no pages; the kernel's error: too little memory, or `RLIMIT_MEMLOCK`.
    pub fn new(pages: usize) -> Result<Self> {
        let page = page_size().get() as usize;
        let length = pages
            .checked_mul(page)
            .filter(|length| *length > 0)
            .ok_or_else(|| Error::Invalid(format!("{pages} pages cannot be mapped")))?;
        let failed = |call| move |error| Error::syscall(call, format!("{length} bytes"), error);
        // SAFETY: a new anonymous mapping at an address of the kernel's choice
        // overlaps nothing (mmap(2)).
        let start = unsafe {
            mmap_anonymous(
                ptr::null_mut(),
                length,
                ProtFlags::READ | ProtFlags::WRITE,
                MapFlags::PRIVATE,
            )
        }
        .map_err(failed("mmap"))?;
        let this = Self { start: start.cast(), page, pages };
        // SAFETY: the range is the mapping.
        unsafe { mlock(start, length) }.map_err(failed("mlock"))?;
        // SAFETY: as above; the advice changes no content.
        let _no_dumps_either_way = unsafe { madvise(start, length, Advice::LinuxDontDump) };
        Ok(this)
    }

    /// The number of pages.
    pub fn pages(&self) -> usize {
        self.pages
    }

    /// The content of `count` pages from `index` on.
    ///
    /// # Panics
    /// If there are fewer.
    pub fn get(&self, index: usize, count: usize) -> &[u8] {
        self.check(index, count);
        // SAFETY: the pages are in the mapping, which lives as long as `self`.
        unsafe { slice::from_raw_parts(self.start.add(index * self.page), count * self.page) }
    }

    /// As [`get`](Self::get), to be changed.
    ///
    /// # Panics
    /// If there are fewer.
    pub fn get_mut(&mut self, index: usize, count: usize) -> &mut [u8] {
        self.check(index, count);
        // SAFETY: as in `get`, and `self` is borrowed exclusively.
        unsafe { slice::from_raw_parts_mut(self.start.add(index * self.page), count * self.page) }
    }

    fn check(&self, index: usize, count: usize) {
        let end = index.checked_add(count);
        assert!(end.is_some_and(|end| end <= self.pages), "page {index} + {count} is not there");
    }
}

impl Drop for LockedPages {
    fn drop(&mut self) {
        // SAFETY: nothing else uses the mapping.
        let _cannot_fail = unsafe { munmap(self.start.cast::<c_void>(), self.pages * self.page) };
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
