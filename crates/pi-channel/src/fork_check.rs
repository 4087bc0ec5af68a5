//! Detects that a value is used in a forked child instead of the process that
//! created it.

use std::ptr;
use std::sync::atomic::{AtomicU8, Ordering};

use rustix::mm::{Advice, MapFlags, ProtFlags, madvise, mmap_anonymous, munmap};

use crate::error::{Error, Result};

const PAGE: usize = 4096;

/// A page that the kernel zeroes in a forked child (`MADV_WIPEONFORK`), so that
/// the check takes no system call.
#[derive(Debug)]
pub(crate) struct ForkCheck(*mut u8);

// SAFETY: the page belongs to this value, and is only accessed atomically.
unsafe impl Send for ForkCheck {}

impl ForkCheck {
    pub(crate) fn this_process() -> Result<Self> {
        let access = ProtFlags::READ | ProtFlags::WRITE;
        // SAFETY: a new mapping at an address that the kernel selects overlaps
        // nothing (mmap(2)).
        let page = unsafe { mmap_anonymous(ptr::null_mut(), PAGE, access, MapFlags::PRIVATE) }
            .map_err(Error::request("mmap"))?;
        let check = Self(page.cast());
        // SAFETY: the range is this value's own private anonymous mapping
        // (madvise(2)).
        unsafe { madvise(page, PAGE, Advice::LinuxWipeOnFork) }
            .map_err(Error::request("madvise(MADV_WIPEONFORK)"))?;
        check.mark().store(1, Ordering::Relaxed);
        Ok(check)
    }

    /// Whether this is the process that created the value, not a fork of it.
    #[inline]
    pub(crate) fn is_this_process(&self) -> bool {
        self.mark().load(Ordering::Relaxed) == 1
    }

    fn mark(&self) -> &AtomicU8 {
        // SAFETY: the page is mapped as long as this value lives, in a forked
        // child too, and accessed in no other way.
        unsafe { AtomicU8::from_ptr(self.0) }
    }
}

impl Drop for ForkCheck {
    fn drop(&mut self) {
        // SAFETY: the range was mapped by this value. munmap(2) fails only
        // for a bad range.
        let _cannot_fail = unsafe { munmap(self.0.cast(), PAGE) };
    }
}
