//! Which pages of processes are in swap, and where: `/proc/PID/pagemap`
//! (`Documentation/admin-guide/mm/pagemap.rst`).

use std::ffi::CStr;
use std::io::{Cursor, Write as _};
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::Path;

use rustix::fs::{Mode, OFlags, RawDir, SeekFrom, openat, seek};
use rustix::io::{Errno, pread};
use rustix::ioctl::{Ioctl, IoctlOutput, Opcode, ioctl, opcode};

use crate::error::{Error, Result};
use crate::memory::page_size;
use crate::root::Root;
use crate::support::Support;

/// Bytes for names in `/proc`.
const NAMES: usize = 8192;
/// Ranges of swapped pages that are asked for at once.
const RANGES: usize = 256;
/// Entries of a pagemap that are read at once.
const ENTRIES: usize = 512;
/// The bytes of an entry.
const ENTRY: u64 = 8;

/// `PAGEMAP_SCAN` of `include/uapi/linux/fs.h`.
const SCAN: Opcode = opcode::read_write::<Scan>(b'f', 16);
/// `PAGE_IS_SWAPPED`.
const IS_SWAPPED: u64 = 1 << 4;
/// The ends of user addresses of 64-bit kernels, the largest first.
const ENDS: [u64; 5] = [1 << 48, 1 << 47, (1 << 47) - 4096, 1 << 42, 1 << 39];

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

/// `struct pm_scan_arg`.
#[repr(C)]
#[derive(Debug, Clone, Copy, Default)]
struct Scan {
    size: u64,
    flags: u64,
    start: u64,
    end: u64,
    walk_end: u64,
    ranges: u64,
    ranges_len: u64,
    max_pages: u64,
    category_inverted: u64,
    category_mask: u64,
    category_anyof_mask: u64,
    return_mask: u64,
}

/// `struct page_region`.
#[repr(C)]
#[derive(Debug, Clone, Copy, Default)]
struct Range {
    start: u64,
    end: u64,
    categories: u64,
}

/// Finds the pages in swap of all processes. Takes all its memory when it is
/// made, so that it can be used where no memory may be waited for.
#[derive(Debug)]
pub struct SwappedPages {
    proc: OwnedFd,
    names: Box<[MaybeUninit<u8>]>,
    ranges: Box<[Range]>,
    entries: Box<[u8]>,
    /// The end of user addresses.
    end: u64,
    page: u64,
}

impl SwappedPages {
    /// Makes one. `No` before Linux 6.7.
    ///
    /// # Errors
    /// `/proc` cannot be read.
    pub fn new(root: &Root) -> Result<Support<Self>> {
        let path = root.resolve("/proc");
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let proc = openat(rustix::fs::CWD, &path, flags, Mode::empty())
            .map_err(|error| Error::file("open", path, error.into()))?;
        let mut pages = Self {
            proc,
            names: vec![MaybeUninit::uninit(); NAMES].into(),
            ranges: vec![Range::default(); RANGES].into(),
            entries: vec![0; ENTRIES * ENTRY as usize].into(),
            end: 0,
            page: page_size().get(),
        };
        let this = match open_pagemap(pages.proc.as_fd(), c"self") {
            Err(Errno::NOENT) => {
                return Ok(Support::no("the kernel has no pagemap (CONFIG_PROC_PAGE_MONITOR)"));
            }
            this => this.map_err(|e| Error::file("open", "/proc/self/pagemap", e.into()))?,
        };
        for end in ENDS {
            match next_ranges(this.as_fd(), end - pages.page, end, &mut pages.ranges) {
                Ok(_) => {
                    pages.end = end;
                    return Ok(Support::Yes(pages));
                }
                Err(Errno::FAULT) => {}
                Err(Errno::NOTTY | Errno::INVAL) => break,
                Err(error) => return Err(failed(error)),
            }
        }
        Ok(Support::no("the kernel does not find swapped pages (PAGEMAP_SCAN, Linux 6.7)"))
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
        let Self { proc, names, ranges, entries, end, page } = self;
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
            let mut buffers = Buffers { ranges, entries, page: *page };
            let mut each = |address, entry| each(SwappedPage { process, address, ..entry });
            let visited = open_pagemap(proc.as_fd(), entry.file_name())
                .and_then(|pagemap| buffers.visit(pagemap.as_fd(), *end, &mut each));
            match visited {
                // It has ended, or may not be looked into.
                Ok(()) | Err(Errno::NOENT | Errno::SRCH | Errno::ACCESS | Errno::PERM) => {}
                Err(error) => result = result.and(Err(error)),
            }
        }
        result.map_err(failed)
    }
}

struct Buffers<'a> {
    ranges: &'a mut [Range],
    entries: &'a mut [u8],
    page: u64,
}

impl Buffers<'_> {
    fn visit(
        &mut self,
        pagemap: BorrowedFd<'_>,
        end: u64,
        each: &mut impl FnMut(u64, SwappedPage),
    ) -> rustix::io::Result<()> {
        if !has_memory(pagemap)? {
            return Ok(());
        }
        let mut start = 0;
        while start < end {
            let (count, walked) = next_ranges(pagemap, start, end, self.ranges)?;
            for number in 0..count {
                let Range { start, end, .. } = self.ranges[number];
                self.read(pagemap, start..end, each)?;
            }
            if walked <= start {
                break;
            }
            start = walked;
        }
        Ok(())
    }

    /// Reads the entries of a range.
    fn read(
        &mut self,
        pagemap: BorrowedFd<'_>,
        range: std::ops::Range<u64>,
        each: &mut impl FnMut(u64, SwappedPage),
    ) -> rustix::io::Result<()> {
        let mut address = range.start;
        while address < range.end {
            let wanted = ((range.end - address) / self.page * ENTRY) as usize;
            let wanted = wanted.min(self.entries.len());
            let read = pread(pagemap, &mut self.entries[..wanted], address / self.page * ENTRY)?;
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

/// Opens the pagemap of a process, by its name in `/proc`.
fn open_pagemap(proc: BorrowedFd<'_>, process: &CStr) -> rustix::io::Result<OwnedFd> {
    let mut path = Cursor::new([0; 64]);
    path.write_all(process.to_bytes())
        .and_then(|()| path.write_all(b"/pagemap\0"))
        .map_err(|_| Errno::NAMETOOLONG)?;
    let path = CStr::from_bytes_until_nul(path.get_ref()).map_err(|_| Errno::INVAL)?;
    openat(proc, path, OFlags::RDONLY | OFlags::CLOEXEC, Mode::empty())
}

/// Whether the file belongs to memory. That of a kernel thread, and of a process
/// that was ending when it was opened, does not, and kernels before 6.16 crash
/// when such a file is scanned (their commit 65c66047259f). To read it is safe.
fn has_memory(pagemap: BorrowedFd<'_>) -> rustix::io::Result<bool> {
    let mut entry = [0_u8; ENTRY as usize];
    pread(pagemap, &mut entry, 0).map(|read| read > 0)
}

/// Writes the next ranges of swapped pages to `ranges`. Returns their count, and
/// the address until which the kernel has looked. The file must
/// [have memory](has_memory).
fn next_ranges(
    pagemap: BorrowedFd<'_>,
    start: u64,
    end: u64,
    ranges: &mut [Range],
) -> rustix::io::Result<(usize, u64)> {
    let mut scan = Scan {
        size: size_of::<Scan>() as u64,
        start,
        end,
        ranges: ranges.as_mut_ptr() as u64,
        ranges_len: ranges.len() as u64,
        category_mask: IS_SWAPPED,
        return_mask: IS_SWAPPED,
        ..Scan::default()
    };
    // SAFETY: ioctl(2) with PAGEMAP_SCAN reads and writes `scan` and writes at most
    // `ranges_len` ranges, which are there; any bytes are a `Range`.
    let count = unsafe { ioctl(pagemap, Counting(&mut scan)) }?;
    Ok((count.min(ranges.len()), scan.walk_end))
}

fn failed(error: Errno) -> Error {
    Error::syscall("ioctl", "PAGEMAP_SCAN", error)
}

/// The request, which returns a count.
struct Counting<'a>(&'a mut Scan);

// SAFETY: the kernel reads and writes a `struct pm_scan_arg`, which `Scan` is.
unsafe impl Ioctl for Counting<'_> {
    type Output = usize;

    const IS_MUTATING: bool = true;

    fn opcode(&self) -> Opcode {
        SCAN
    }

    fn as_ptr(&mut self) -> *mut std::ffi::c_void {
        std::ptr::from_mut(self.0).cast()
    }

    unsafe fn output_from_ptr(
        count: IoctlOutput,
        _: *mut std::ffi::c_void,
    ) -> rustix::io::Result<Self::Output> {
        usize::try_from(count).map_err(|_| Errno::OVERFLOW)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_request_has_the_kernels_number() {
        // `PAGEMAP_SCAN` on architectures with the generic encoding.
        #[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
        assert_eq!(SCAN, 0xc060_6610);
    }

    #[test]
    fn an_entry_names_its_area_and_slot() {
        let page = SwappedPage { process: 0, address: 0, area: 3, slot: 0x1234 };
        assert_eq!(parse(1 << 62 | 0x1234 << 5 | 3), Some(page));
        assert_eq!(parse(1 << 63 | 0x1234), None, "it is in memory");
        let flags = 1 << 55 | 1 << 56 | 1 << 61;
        assert_eq!(parse(1 << 62 | flags | 0x1234 << 5 | 3), Some(page));
    }
}
