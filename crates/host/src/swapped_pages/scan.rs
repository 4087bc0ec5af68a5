//! Finds the ranges of swapped pages of a process with `PAGEMAP_SCAN` (Linux 6.7).

use std::os::fd::BorrowedFd;

use rustix::io::Errno;
use rustix::ioctl::{Ioctl, IoctlOutput, Opcode, ioctl, opcode};

use crate::error::{Error, Result};
use crate::support::Support;

/// Ranges of swapped pages that are asked for at once.
const RANGES: usize = 256;
/// `PAGEMAP_SCAN` of `include/uapi/linux/fs.h`.
const SCAN: Opcode = opcode::read_write::<Scan>(b'f', 16);
/// `PAGE_IS_SWAPPED`.
const IS_SWAPPED: u64 = 1 << 4;
/// The ends of user addresses of 64-bit kernels, the largest first.
const ENDS: [u64; 5] = [1 << 48, 1 << 47, (1 << 47) - 4096, 1 << 42, 1 << 39];

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
pub(super) struct Range {
    pub(super) start: u64,
    pub(super) end: u64,
    categories: u64,
}

/// Asks the kernel for ranges. Takes its memory when it is made.
#[derive(Debug)]
pub(super) struct Scanner {
    ranges: Box<[Range]>,
    /// The end of user addresses.
    end: u64,
}

impl Scanner {
    /// Makes one, and tries it on the pagemap of this process.
    pub(super) fn new(this: BorrowedFd<'_>, page: u64) -> Result<Support<Self>> {
        let mut ranges: Box<[Range]> = vec![Range::default(); RANGES].into();
        for end in ENDS {
            match next_ranges(this, end - page, end, &mut ranges) {
                Ok(_) => return Ok(Support::Yes(Self { ranges, end })),
                Err(Errno::FAULT) => {}
                Err(Errno::NOTTY | Errno::INVAL) => break,
                Err(error) => return Err(failed(error)),
            }
        }
        Ok(Support::no("the kernel does not find swapped pages (PAGEMAP_SCAN, Linux 6.7)"))
    }

    /// Calls `each` with each range of a pagemap that [has memory](super::has_memory).
    pub(super) fn visit(
        &mut self,
        pagemap: BorrowedFd<'_>,
        mut each: impl FnMut(std::ops::Range<u64>) -> rustix::io::Result<()>,
    ) -> rustix::io::Result<()> {
        let mut start = 0;
        while start < self.end {
            let (count, walked) = next_ranges(pagemap, start, self.end, &mut self.ranges)?;
            for range in &self.ranges[..count] {
                each(range.start..range.end)?;
            }
            if walked <= start {
                break;
            }
            start = walked;
        }
        Ok(())
    }
}

/// Writes the next ranges of swapped pages to `ranges`. Returns their count, and
/// the address until which the kernel has looked. The file must
/// [have memory](super::has_memory).
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

pub(super) fn failed(error: Errno) -> Error {
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
}
