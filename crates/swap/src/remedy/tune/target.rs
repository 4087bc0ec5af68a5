//! Reads of a device or file, past the page cache.

use std::fs::File;
use std::os::unix::fs::FileExt as _;
use std::path::{Path, PathBuf};

use rustix::fs::{OFlags, fcntl_getfl, fcntl_setfl};
use unjank_host::memory::{LockedPages, page_size};
use unjank_host::{Error, Nanos, Result, Support, Timestamp};

/// The most pages that are read together.
pub(super) const MOST: usize = 32;

/// A device or file whose pages are read.
#[derive(Debug)]
pub(super) struct Target {
    file: File,
    path: PathBuf,
    /// The first page that holds data, and the number of pages from there on.
    first: u64,
    pages: u64,
    into: LockedPages,
}

impl Target {
    /// Reads `pages` pages of an open device or file from page `first` on. `No` if it cannot be read
    /// past the page cache.
    pub(super) fn of(file: File, path: &Path, first: u64, pages: u64) -> Result<Support<Self>> {
        let direct =
            fcntl_getfl(&file).and_then(|flags| fcntl_setfl(&file, flags | OFlags::DIRECT));
        if direct.is_err() {
            return Ok(Support::no(format!(
                "{} cannot be read past the page cache (O_DIRECT)",
                path.display()
            )));
        }
        let into = LockedPages::new(MOST)?;
        Ok(Support::Yes(Self { file, path: path.to_owned(), first, pages, into }))
    }

    /// The number of pages.
    pub(super) fn pages(&self) -> u64 {
        self.pages
    }

    /// Reads `count` pages from `at` on, and returns the time that it took.
    ///
    /// # Errors
    /// The kernel's error, or fewer pages.
    pub(super) fn read(&mut self, at: u64, count: usize) -> Result<Nanos> {
        let offset = (self.first + at) * page_size().get();
        let into = self.into.get_mut(0, count.min(MOST));
        let before = Timestamp::now();
        let read = self.file.read_exact_at(into, offset);
        let taken = Timestamp::now().since(before);
        read.map_err(|source| Error::file("read", &self.path, source))?;
        Ok(taken)
    }

    /// The content of the first page of the last read.
    pub(super) fn last(&self) -> &[u8] {
        self.into.get(0, 1)
    }

    /// Writes one page, and returns the time that it took.
    ///
    /// # Errors
    /// The kernel's error.
    pub(super) fn write(&mut self, at: u64, page: &[u8]) -> Result<Nanos> {
        let offset = (self.first + at) * page_size().get();
        // Aligned, as the page of a sample need not be.
        let from = self.into.get_mut(0, 1);
        from.copy_from_slice(page);
        let before = Timestamp::now();
        let written = self.file.write_all_at(from, offset);
        let taken = Timestamp::now().since(before);
        written.map_err(|source| Error::file("write", &self.path, source))?;
        Ok(taken)
    }
}
