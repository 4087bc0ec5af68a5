//! The ring buffer of an event, which the kernel fills and this process empties.

use std::ffi::c_void;
use std::fs::File;
use std::ptr;
use std::sync::atomic::{AtomicU64, Ordering};

use rustix::mm::{MapFlags, ProtFlags, mmap, munmap};

use crate::error::{Error, Result};
use crate::memory::page_size;

/// `data_head` and `data_tail` of `struct perf_event_mmap_page`.
const HEAD: usize = 1024;
const TAIL: usize = 1032;

#[derive(Debug)]
pub(super) struct Ring {
    memory: *mut u8,
    page: usize,
    /// Those with records.
    pages: usize,
}

// SAFETY: the mapping belongs to this value alone, and memory is not tied to
// the thread that mapped it.
unsafe impl Send for Ring {}

impl Ring {
    /// Maps the ring buffer of the event `file` with this number of pages, a power
    /// of two.
    pub(super) fn map(file: &File, pages: usize, what: &str) -> Result<Self> {
        let page = page_size().get() as usize;
        // SAFETY: a new mapping at an address of the kernel's choice overlaps
        // nothing. perf_event_open(2) asks for one page and a power of two more.
        let memory = unsafe {
            mmap(
                ptr::null_mut(),
                (pages + 1) * page,
                ProtFlags::READ | ProtFlags::WRITE,
                MapFlags::SHARED,
                file,
                0,
            )
        }
        .map_err(|error| Error::syscall("mmap", what, error))?;
        Ok(Self { memory: memory.cast(), page, pages })
    }

    /// Appends the records since the last call to `bytes`.
    pub(super) fn take(&mut self, bytes: &mut Vec<u8>) {
        let size = self.pages * self.page;
        let head = self.counter(HEAD).load(Ordering::Acquire);
        let tail = self.counter(TAIL).load(Ordering::Relaxed);
        let filled = usize::try_from(head.wrapping_sub(tail)).unwrap_or(usize::MAX).min(size);
        let from = (tail % size as u64) as usize;
        let first = filled.min(size - from);
        // SAFETY: the `size` bytes after the first page are mapped as long as this
        // value lives. `from` < `size` and `first` <= `size - from`, so the first
        // piece ends within them; `filled` <= `size`, so the second one does, too.
        // The kernel writes nothing between the two counters until the second one
        // is moved (perf_event_open(2)), which is below, after the last use of the
        // slices; nobody else moves it, as this method borrows the value mutably.
        let (one, other) = unsafe {
            let data = self.memory.add(self.page);
            let one = std::slice::from_raw_parts(data.add(from), first);
            (one, std::slice::from_raw_parts(data, filled - first))
        };
        bytes.extend_from_slice(one);
        bytes.extend_from_slice(other);
        // Pairs with the kernel's read of the counter before it writes again.
        self.counter(TAIL).store(head, Ordering::Release);
    }

    #[expect(clippy::cast_ptr_alignment, reason = "a page and a multiple of eight are aligned")]
    fn counter(&self, offset: usize) -> &AtomicU64 {
        // SAFETY: `offset` is `HEAD` or `TAIL`: a multiple of eight within the first
        // page, which is mapped as long as this value lives. The kernel changes the
        // counters at any time, so this process uses them as atomics only.
        unsafe { &*self.memory.add(offset).cast::<AtomicU64>() }
    }
}

impl Drop for Ring {
    fn drop(&mut self) {
        let size = (self.pages + 1) * self.page;
        // SAFETY: the range was mapped by this value, and no reference into it
        // outlives it. munmap(2) fails only for a bad range.
        let _cannot_fail = unsafe { munmap(self.memory.cast::<c_void>(), size) };
    }
}
