//! Memory that two processes, or two languages, share word by word.

use std::os::fd::{AsFd, OwnedFd};
use std::ptr;
use std::sync::atomic::{AtomicU32, AtomicU64};

use rustix::fs::{MemfdFlags, SealFlags, fcntl_add_seals, fstat, ftruncate, memfd_create};
use rustix::mm::{MapFlags, ProtFlags, mmap, munmap};

use crate::error::{Error, Result};

/// A range of shared memory. Its 64-bit words are accessed atomically, other
/// bytes are copied in and out, so that writes of another process can only
/// cause wrong values.
#[derive(Debug)]
pub struct SharedRegion {
    start: *mut u8,
    length: usize,
}

// SAFETY: the mapping belongs to this value; words are atomic, and bytes are
// copied through raw pointers only.
unsafe impl Send for SharedRegion {}
// SAFETY: as above; no method hands out a reference to plain bytes.
unsafe impl Sync for SharedRegion {}

impl SharedRegion {
    /// New zeroed memory, and the descriptor for other processes to map it. Its
    /// size is sealed: nobody can shrink it under a reader.
    ///
    /// # Errors
    /// If there is no memory, or the kernel lacks `memfd_create(2)`.
    pub fn create(name: &str, length: usize) -> Result<(Self, OwnedFd)> {
        let error = |call| move |error| Error::syscall(call, name.to_owned(), error);
        let flags = MemfdFlags::CLOEXEC | MemfdFlags::ALLOW_SEALING;
        let fd = memfd_create(name, flags).map_err(error("memfd_create"))?;
        ftruncate(&fd, length as u64).map_err(error("ftruncate"))?;
        let seals = SealFlags::SHRINK | SealFlags::GROW | SealFlags::SEAL;
        fcntl_add_seals(&fd, seals).map_err(error("fcntl(F_ADD_SEALS)"))?;
        Ok((Self::open(&fd)?, fd))
    }

    /// Maps the whole region that another process has created, and populates
    /// every page, so that a timed path has no first-touch faults.
    ///
    /// # Errors
    /// If the descriptor is not memory, or there is too little memory.
    pub fn open(fd: impl AsFd) -> Result<Self> {
        let size =
            fstat(&fd).map_err(|error| Error::syscall("fstat", "shared memory", error))?.st_size;
        let length = usize::try_from(size).unwrap_or_default();
        let flags = MapFlags::SHARED | MapFlags::POPULATE;
        // SAFETY: a new mapping at an address of the kernel's choice overlaps
        // nothing (mmap(2)).
        let start = unsafe {
            mmap(ptr::null_mut(), length, ProtFlags::READ | ProtFlags::WRITE, flags, &fd, 0)
        }
        .map_err(|error| Error::syscall("mmap", format!("{length} shared bytes"), error))?;
        Ok(Self { start: start.cast(), length })
    }

    /// The size in bytes.
    pub fn len(&self) -> usize {
        self.length
    }

    /// Always false: a mapping is not empty.
    pub fn is_empty(&self) -> bool {
        self.length == 0
    }

    /// The word at `offset`, a multiple of 8.
    ///
    /// # Panics
    /// If it is not entirely inside.
    #[inline]
    pub fn word(&self, offset: usize) -> &AtomicU64 {
        assert!(offset.is_multiple_of(8), "offset {offset} is not aligned");
        self.check(offset, 8);
        // SAFETY: the word lies in the mapping, which lives as long as the
        // reference; mappings begin at a page, so it is aligned.
        unsafe { AtomicU64::from_ptr(self.start.add(offset).cast()) }
    }

    /// The 32 bits at `offset`, a multiple of 4, to wait on with a futex.
    ///
    /// # Panics
    /// If they are not entirely inside.
    #[inline]
    pub fn word32(&self, offset: usize) -> &AtomicU32 {
        assert!(offset.is_multiple_of(4), "offset {offset} is not aligned");
        self.check(offset, 4);
        // SAFETY: as in `word`.
        unsafe { AtomicU32::from_ptr(self.start.add(offset).cast()) }
    }

    /// Copies `data` to `offset`. Readers must wait for a word to announce it.
    ///
    /// # Panics
    /// If it does not fit.
    #[inline]
    pub fn write(&self, offset: usize, data: &[u8]) {
        self.check(offset, data.len());
        // SAFETY: the target lies in the mapping and cannot overlap `data`,
        // which is memory that this program has a reference to.
        unsafe { ptr::copy_nonoverlapping(data.as_ptr(), self.start.add(offset), data.len()) }
    }

    /// Copies the bytes at `offset` to `data`.
    ///
    /// # Panics
    /// If they are not entirely inside.
    #[inline]
    pub fn read(&self, offset: usize, data: &mut [u8]) {
        self.check(offset, data.len());
        // SAFETY: as in `write`, with source and target exchanged; every bit
        // pattern is a valid byte.
        unsafe { ptr::copy_nonoverlapping(self.start.add(offset), data.as_mut_ptr(), data.len()) }
    }

    /// Copies bytes to another region.
    ///
    /// # Panics
    /// If they are not entirely inside of both, or it is the same region.
    #[inline]
    pub fn copy(&self, offset: usize, other: &Self, other_offset: usize, length: usize) {
        self.check(offset, length);
        other.check(other_offset, length);
        assert!(!ptr::eq(self, other), "a region is not copied to itself");
        // SAFETY: both ranges lie in mappings of their own, so they do not overlap.
        unsafe {
            ptr::copy_nonoverlapping(self.start.add(offset), other.start.add(other_offset), length);
        }
    }

    /// The address of bytes, for the kernel.
    ///
    /// # Panics
    /// If they are not entirely inside.
    pub(crate) fn address(&self, offset: usize, length: usize) -> *mut u8 {
        self.check(offset, length);
        self.start.wrapping_add(offset)
    }

    #[inline]
    fn check(&self, offset: usize, length: usize) {
        let end = offset.saturating_add(length);
        assert!(end <= self.length, "{end} is beyond {} shared bytes", self.length);
    }
}

impl Drop for SharedRegion {
    fn drop(&mut self) {
        // SAFETY: the range was mapped by this value, and no reference into it
        // outlives it. munmap(2) fails only for a bad range.
        let _cannot_fail = unsafe { munmap(self.start.cast(), self.length) };
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::Ordering;

    use super::*;

    #[test]
    fn two_mappings_see_the_same_memory() {
        let (ours, fd) = SharedRegion::create("test", 4096).unwrap();
        let theirs = SharedRegion::open(&fd).unwrap();
        assert_eq!(theirs.len(), 4096);
        ours.write(9, b"hello");
        ours.word(4088).store(7, Ordering::Release);
        assert_eq!(theirs.word(4088).load(Ordering::Acquire), 7);
        let mut data = [0; 5];
        theirs.read(9, &mut data);
        assert_eq!(&data, b"hello");
    }

    #[test]
    #[should_panic(expected = "4097 is beyond 4096 shared bytes")]
    fn writes_beyond_the_end_are_refused() {
        SharedRegion::create("test", 4096).unwrap().0.write(4090, &[0; 7]);
    }

    #[test]
    #[should_panic(expected = "not aligned")]
    fn words_are_aligned() {
        let _ = SharedRegion::create("test", 4096).unwrap().0.word(4);
    }
}
