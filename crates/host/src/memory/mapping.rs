//! A range of mapped memory, accessed page by page.

use std::ffi::c_void;
use std::io;
use std::os::fd::AsFd;
use std::ptr;

use rustix::io::Errno;
use rustix::mm::{Advice, MapFlags, ProtFlags, madvise, mlock, mmap, mmap_anonymous, munmap};

use crate::error::{Error, Result};
use crate::memory::page_size;
use unjank_units::Bytes;

/// The access pattern of a mapping.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Access {
    /// Random: the kernel reads no page of a file ahead.
    Random,
    /// The kernel's default, with readahead.
    Normal,
}

/// A range of memory of this process: anonymous, or the content of a file.
/// Unmapped when dropped.
#[derive(Debug)]
pub struct Mapping {
    start: *mut u8,
    pages: usize,
    page: usize,
}

// SAFETY: the mapping belongs to this value alone, and memory is not tied to
// the thread that mapped it.
unsafe impl Send for Mapping {}

impl Mapping {
    /// Private anonymous memory without huge pages, so that each page can be
    /// paged out and touched alone. No page is present at first.
    ///
    /// # Errors
    /// If `mmap(2)` failed: no memory, or an address-space limit.
    pub fn anonymous(pages: usize) -> Result<Self> {
        let page = page_size().get() as usize;
        let length = pages.saturating_mul(page);
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
        .map_err(|error| Error::syscall("mmap", format!("{length} bytes"), error))?;
        let mapping = Self { start: start.cast(), pages, page };
        // A kernel without transparent huge pages answers EINVAL: nothing to switch off.
        let _no_huge_pages = mapping.advise(Advice::LinuxNoHugepage);
        Ok(mapping)
    }

    /// The first `pages` pages of a file, shared and read-only.
    ///
    /// # Errors
    /// If `mmap(2)` failed, for example because the file system does not
    /// support it.
    pub fn of_file(file: impl AsFd, pages: usize, access: Access) -> Result<Self> {
        let page = page_size().get() as usize;
        let length = pages.saturating_mul(page);
        // SAFETY: a new mapping at an address of the kernel's choice overlaps
        // nothing. The bytes are only read, as volatile, so that another
        // process writing the file breaks no promise to the compiler.
        let start =
            unsafe { mmap(ptr::null_mut(), length, ProtFlags::READ, MapFlags::SHARED, file, 0) }
                .map_err(|error| {
                    Error::syscall("mmap", format!("{length} bytes of a file"), error)
                })?;
        let mapping = Self { start: start.cast(), pages, page };
        if access == Access::Random {
            mapping.advise(Advice::Random)?;
        }
        Ok(mapping)
    }

    /// Its first byte. An anonymous mapping may be written, too.
    pub(super) fn start(&self) -> *mut u8 {
        self.start
    }

    /// Locks the pages in memory, and keeps them out of core dumps.
    pub(super) fn lock(&self) -> Result<()> {
        let length = self.pages * self.page;
        // SAFETY: the range is this mapping's own.
        unsafe { mlock(self.start.cast::<c_void>(), length) }.map_err(|error| match error {
            // mlock(2): beyond RLIMIT_MEMLOCK, which is 0 for the last two.
            Errno::NOMEM | Errno::PERM | Errno::AGAIN => Error::Permission {
                what: format!("locking {} in memory", Bytes(length as u64)),
                needs: "root, or a higher limit (ulimit -l)".to_owned(),
            },
            other => Error::syscall("mlock", format!("{length} bytes"), other),
        })?;
        // Kernels know the advice since 3.4.
        let _no_dumps_either_way = self.advise(Advice::LinuxDontDump);
        Ok(())
    }

    /// Its first address.
    pub(crate) fn address(&self) -> u64 {
        self.start as u64
    }

    /// The number of pages.
    pub fn pages(&self) -> usize {
        self.pages
    }

    /// Reads one byte of the page `index`, which brings the page in.
    ///
    /// # Panics
    /// If there is no such page.
    #[inline]
    pub fn touch(&self, index: usize) -> u8 {
        assert!(index < self.pages, "page {index} of {}", self.pages);
        // SAFETY: the address lies in the mapping, which is readable and lives
        // as long as this value.
        unsafe { ptr::read_volatile(self.start.add(index * self.page)) }
    }

    /// Writes the page `index` of an anonymous mapping, word by word.
    ///
    /// # Panics
    /// If there is no such page.
    pub fn fill(&mut self, index: usize, mut word: impl FnMut() -> u64) {
        assert!(index < self.pages, "page {index} of {}", self.pages);
        // SAFETY: the page lies in the mapping and is borrowed exclusively; a
        // page is aligned for u64 and a whole number of them.
        let words = unsafe {
            std::slice::from_raw_parts_mut(
                self.start.add(index * self.page).cast::<c_void>().cast::<u64>(),
                self.page / size_of::<u64>(),
            )
        };
        words.fill_with(&mut word);
    }

    /// Reads the word `at` of the page `index`, which the compiler does not leave out.
    ///
    /// # Panics
    /// If there is no such page or word.
    pub fn read(&self, index: usize, at: usize) -> u64 {
        let word = self.word(index, at);
        // SAFETY: the word lies in the mapping, which is readable and lives as long as this value.
        unsafe { ptr::read_volatile(word) }
    }

    /// Writes the word `at` of the page `index` of an anonymous mapping.
    ///
    /// # Panics
    /// If there is no such page or word.
    pub fn write(&mut self, index: usize, at: usize, value: u64) {
        let word = self.word(index, at);
        // SAFETY: the word lies in the mapping and is borrowed exclusively.
        unsafe { ptr::write_volatile(word, value) }
    }

    fn word(&self, index: usize, at: usize) -> *mut u64 {
        let words = self.page / size_of::<u64>();
        assert!(index < self.pages && at < words, "word {at} of page {index} of {}", self.pages);
        // SAFETY: the word lies in the mapping, which is aligned to a page.
        unsafe { self.start.add(index * self.page).cast::<c_void>().cast::<u64>().add(at) }
    }

    /// Asks the kernel to page this memory out (`MADV_PAGEOUT`). Touches no
    /// memory of other programs.
    ///
    /// # Errors
    /// `EINVAL` on kernels before 5.4.
    pub fn page_out(&self) -> Result<()> {
        self.advise(Advice::LinuxPageOut)
    }

    /// Whether each page is in memory at this moment (`mincore(2)`). A page of
    /// an anonymous mapping that is in the swap cache counts as in memory.
    ///
    /// # Errors
    /// If `mincore(2)` failed.
    pub fn resident(&self) -> Result<Vec<bool>> {
        let mut states = vec![0_u8; self.pages];
        // SAFETY: mincore(2) writes one byte per page of the range into
        // `states`, which has just that many.
        let answer = unsafe {
            libc::mincore(self.start.cast::<c_void>(), self.pages * self.page, states.as_mut_ptr())
        };
        if answer != 0 {
            let error = io::Error::last_os_error();
            return Err(Error::syscall("mincore", format!("{} pages", self.pages), error));
        }
        Ok(states.into_iter().map(|state| state & 1 == 1).collect())
    }

    fn advise(&self, advice: Advice) -> Result<()> {
        // SAFETY: the range is this mapping's own; none of the advice used here
        // changes the data read from it (madvise(2)).
        unsafe { madvise(self.start.cast::<c_void>(), self.pages * self.page, advice) }
            .map_err(|error| Error::syscall("madvise", format!("{advice:?}"), error))
    }
}

impl Drop for Mapping {
    fn drop(&mut self) {
        // SAFETY: the range was mapped by this value, and no reference into it
        // outlives it. munmap(2) fails only for a bad range.
        let _cannot_fail = unsafe { munmap(self.start.cast::<c_void>(), self.pages * self.page) };
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write as _;

    use super::*;

    #[test]
    fn anonymous_pages_come_in_when_they_are_touched() {
        let mut mapping = Mapping::anonymous(8).unwrap();
        assert_eq!(mapping.resident().unwrap(), [false; 8]);
        mapping.fill(3, || 0x0707_0707_0707_0707);
        assert_eq!(mapping.touch(3), 7);
        assert_eq!(mapping.resident().unwrap().iter().filter(|&&there| there).count(), 1);
    }

    #[test]
    fn a_file_is_read_through_its_mapping() {
        let mut file = tempfile::tempfile().unwrap();
        let page = page_size().get() as usize;
        file.write_all(&vec![9; 4 * page]).unwrap();
        let mapping = Mapping::of_file(&file, 4, Access::Random).unwrap();
        assert_eq!(mapping.touch(3), 9);
    }

    #[test]
    #[should_panic(expected = "page 8 of 8")]
    fn a_page_outside_is_not_touched() {
        Mapping::anonymous(8).unwrap().touch(8);
    }
}
