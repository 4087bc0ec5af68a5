//! Which pages of processes are in swap, and where: `/proc/PID/pagemap`
//! (`Documentation/admin-guide/mm/pagemap.rst`).

mod maps;
mod proc_file;
mod scan;

use std::mem::MaybeUninit;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::Path;

use rustix::fs::{Mode, OFlags, RawDir, SeekFrom, openat, seek};
use rustix::io::{Errno, pread};

use crate::error::{Error, Result};
use crate::machine::capabilities;
use crate::memory::page_size;
use crate::root::Root;
use crate::support::Support;
use proc_file::open;
use scan::{Scanner, failed};

/// Bytes for names in `/proc`.
const NAMES: usize = 8192;
/// Entries of a pagemap that are read at once.
const ENTRIES: usize = 512;
/// The bytes of an entry.
const ENTRY: u64 = 8;

/// A page in swap.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct SwappedPage {
    /// The process that it belongs to.
    pub process: u32,
    /// Its address there.
    pub address: u64,
    /// The number of its swap area. A number that is too large for an area is
    /// that of another kind of entry, as of a page that is being moved.
    pub area: u8,
    /// Its number in the area, in pages.
    pub slot: u64,
}

/// Finds the pages in swap of all processes.
#[derive(Debug)]
pub struct SwappedPages {
    proc: OwnedFd,
    names: Box<[MaybeUninit<u8>]>,
    entries: Box<[u8]>,
    search: Search,
    page: u64,
}

/// How the ranges of a process in which pages may be in swap are found.
#[derive(Debug)]
enum Search {
    /// By the kernel.
    Scan(Scanner),
    /// From all that is mapped: slower.
    Maps,
}

impl SwappedPages {
    /// Makes one that takes all its memory now, so that it can be used where no
    /// memory may be waited for. `No` before Linux 6.7, and without
    /// `CAP_SYS_ADMIN`.
    ///
    /// # Errors
    /// `/proc` cannot be read.
    pub fn new(root: &Root) -> Result<Support<Self>> {
        Self::make(root, |this, page| Ok(Scanner::new(this, page)?.map(Search::Scan)))
    }

    /// As [`new`](Self::new), for any kernel: one that reads all that is mapped by
    /// processes that have pages in swap. It is slower, and allocates memory.
    ///
    /// # Errors
    /// `/proc` cannot be read.
    pub fn by_maps(root: &Root) -> Result<Support<Self>> {
        Self::make(root, |_, _| Ok(Support::Yes(Search::Maps)))
    }

    fn make(
        root: &Root,
        search: impl FnOnce(BorrowedFd<'_>, u64) -> Result<Support<Search>>,
    ) -> Result<Support<Self>> {
        if !capabilities::has(root, "CAP_SYS_ADMIN")? {
            let why = "/proc/PID/pagemap shows slots of swap only with CAP_SYS_ADMIN";
            return Ok(Support::no(why));
        }
        let path = root.resolve("/proc");
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let proc = openat(rustix::fs::CWD, &path, flags, Mode::empty())
            .map_err(|error| Error::file("open", path, error.into()))?;
        let this = match open(proc.as_fd(), c"self", b"/pagemap") {
            Err(Errno::NOENT) => {
                return Ok(Support::no("the kernel has no pagemap (CONFIG_PROC_PAGE_MONITOR)"));
            }
            this => this.map_err(|e| Error::file("open", "/proc/self/pagemap", e.into()))?,
        };
        let page = page_size().get();
        Ok(search(this.as_fd(), page)?.map(|search| Self {
            proc,
            names: vec![MaybeUninit::uninit(); NAMES].into(),
            entries: vec![0; ENTRIES * ENTRY as usize].into(),
            search,
            page,
        }))
    }

    /// Calls `each` with every page in swap of every process but this one. A
    /// process that ends meanwhile, or that this one may not look into, is left
    /// out.
    ///
    /// While the kernel looks through the memory of a process, that process
    /// cannot map or unmap memory: about 5 ms for each GiB in memory.
    ///
    /// # Errors
    /// The kernel's first error, after all processes.
    pub fn visit(&mut self, mut each: impl FnMut(SwappedPage)) -> Result<()> {
        let Self { proc, names, entries, search, page } = self;
        let list = |error: Errno| Error::file("list", Path::new("/proc"), error.into());
        seek(&*proc, SeekFrom::Start(0)).map_err(list)?;
        let mut result = Ok(());
        let mut directory = RawDir::new(proc.as_fd(), names);
        while let Some(entry) = directory.next() {
            let entry = entry.map_err(list)?;
            let number = entry.file_name().to_str().ok().and_then(|name| name.parse().ok());
            let Some(process) = number.filter(|number| *number != std::process::id()) else {
                continue;
            };
            let mut each = |address, entry| each(SwappedPage { process, address, ..entry });
            let visited = open(proc.as_fd(), entry.file_name(), b"/pagemap").and_then(|pagemap| {
                if !has_memory(pagemap.as_fd())? {
                    return Ok(());
                }
                let file = pagemap.as_fd();
                let mut pagemap = Pagemap { file, entries, page: *page };
                let read = |range| pagemap.read(range, &mut each);
                match search {
                    Search::Scan(scanner) => scanner.visit(file, read),
                    Search::Maps => maps::visit(proc.as_fd(), entry.file_name(), read),
                }
            });
            match visited {
                // It has ended, or may not be looked into.
                Ok(()) | Err(Errno::NOENT | Errno::SRCH | Errno::ACCESS | Errno::PERM) => {}
                Err(error) => result = result.and(Err(error)),
            }
        }
        result.map_err(failed)
    }
}

/// The pagemap of a process.
struct Pagemap<'a> {
    file: BorrowedFd<'a>,
    entries: &'a mut [u8],
    page: u64,
}

impl Pagemap<'_> {
    /// Reads the entries of a range.
    fn read(
        &mut self,
        range: std::ops::Range<u64>,
        each: &mut impl FnMut(u64, SwappedPage),
    ) -> rustix::io::Result<()> {
        let mut address = range.start;
        while address < range.end {
            let wanted = ((range.end - address) / self.page * ENTRY) as usize;
            let wanted = wanted.min(self.entries.len());
            let read = pread(self.file, &mut self.entries[..wanted], address / self.page * ENTRY)?;
            if read < ENTRY as usize {
                break;
            }
            for entry in self.entries[..read].as_chunks().0 {
                if let Some(page) = parse(u64::from_ne_bytes(*entry)) {
                    each(address, page);
                }
                address += self.page;
            }
        }
        Ok(())
    }
}

/// A page in swap, without its process and address; `None` for a page elsewhere.
fn parse(entry: u64) -> Option<SwappedPage> {
    const SWAPPED: u64 = 1 << 62;
    let (area, slot) = ((entry & 0x1f) as u8, entry >> 5 & ((1 << 50) - 1));
    (entry & SWAPPED != 0).then_some(SwappedPage { process: 0, address: 0, area, slot })
}

/// Whether the file belongs to memory. That of a kernel thread, and of a process
/// that was ending when it was opened, does not, and kernels before 6.16 crash
/// when such a file is scanned (their commit 65c66047259f). To read it is safe.
fn has_memory(pagemap: BorrowedFd<'_>) -> rustix::io::Result<bool> {
    let mut entry = [0_u8; ENTRY as usize];
    pread(pagemap, &mut entry, 0).map(|read| read > 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_entry_names_its_area_and_slot() {
        let page = SwappedPage { process: 0, address: 0, area: 3, slot: 0x1234 };
        assert_eq!(parse(1 << 62 | 0x1234 << 5 | 3), Some(page));
        assert_eq!(parse(1 << 63 | 0x1234), None, "it is in memory");
        let flags = 1 << 55 | 1 << 56 | 1 << 61;
        assert_eq!(parse(1 << 62 | flags | 0x1234 << 5 | 3), Some(page));
    }
}
