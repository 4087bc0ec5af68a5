//! Memory that two processes share: `memfd_create(2)`.

use std::ffi::c_void;
use std::os::fd::{AsFd, OwnedFd};
use std::ptr;
use std::sync::atomic::AtomicU32;

use rustix::fs::{MemfdFlags, SealFlags, fcntl_add_seals, fstat, ftruncate, memfd_create};
use rustix::mm::{MapFlags, ProtFlags, mmap, munmap};

use crate::error::{Error, Result};

/// Words are this far apart, so that no two of them share a cache line.
const WORD_STRIDE: usize = 128;

/// Memory shared with another process: some 32-bit words to signal with, each
/// on a cache line of its own, and after them a stretch of bytes.
#[derive(Debug)]
pub struct SharedMemory {
    start: *mut u8,
    words: usize,
    bytes: usize,
}

// SAFETY: the mapping belongs to this value; words are atomic, and bytes are
// copied through raw pointers only.
unsafe impl Send for SharedMemory {}

impl SharedMemory {
    /// New zeroed memory, and the descriptor by which another process maps
    /// the same. Its size is sealed: nobody can shrink it under a reader.
    ///
    /// # Errors
    /// No memory, or a kernel without `memfd_create`.
    pub fn create(name: &str, words: usize, bytes: usize) -> Result<(Self, OwnedFd)> {
        let error = |call| move |error| Error::syscall(call, name.to_owned(), error);
        let flags = MemfdFlags::CLOEXEC | MemfdFlags::ALLOW_SEALING;
        let fd = memfd_create(name, flags).map_err(error("memfd_create"))?;
        ftruncate(&fd, (words * WORD_STRIDE + bytes) as u64).map_err(error("ftruncate"))?;
        let seals = SealFlags::SHRINK | SealFlags::GROW | SealFlags::SEAL;
        fcntl_add_seals(&fd, seals).map_err(error("fcntl(F_ADD_SEALS)"))?;
        Ok((Self::open(&fd, words, bytes)?, fd))
    }

    /// Maps what another process has created with the same `words` and `bytes`.
    ///
    /// # Errors
    /// `Invalid` if the descriptor is not of that size.
    pub fn open(fd: impl AsFd, words: usize, bytes: usize) -> Result<Self> {
        let length = words * WORD_STRIDE + bytes;
        let size =
            fstat(&fd).map_err(|error| Error::syscall("fstat", "shared memory", error))?.st_size;
        if size != length as i64 {
            return Err(Error::Invalid(format!(
                "shared memory of {size} bytes where {length} were expected"
            )));
        }
        // SAFETY: a new mapping at an address of the kernel's choice overlaps
        // nothing; it lies wholly within the file, whose size was just checked.
        let start = unsafe {
            let protection = ProtFlags::READ | ProtFlags::WRITE;
            mmap(ptr::null_mut(), length, protection, MapFlags::SHARED, &fd, 0)
        }
        .map_err(|error| Error::syscall("mmap", format!("{length} shared bytes"), error))?;
        Ok(Self { start: start.cast(), words, bytes })
    }

    /// The word `index`.
    ///
    /// # Panics
    /// If there is no such word.
    #[inline]
    pub fn word(&self, index: usize) -> &AtomicU32 {
        assert!(index < self.words, "word {index} of {}", self.words);
        // SAFETY: the address lies in the mapping, which lives as long as the
        // reference, and is aligned: mappings begin at a page, and words lie
        // at multiples of WORD_STRIDE. Both processes access it atomically.
        unsafe { AtomicU32::from_ptr(self.start.add(index * WORD_STRIDE).cast::<c_void>().cast()) }
    }

    /// Copies `data` to the beginning of the bytes. The other process must not
    /// look before a word says so.
    ///
    /// # Panics
    /// If it is too long.
    #[inline]
    pub fn write(&self, data: &[u8]) {
        assert!(data.len() <= self.bytes, "{} bytes into {}", data.len(), self.bytes);
        // SAFETY: the target lies in the mapping and cannot overlap `data`,
        // which is memory of this process alone.
        unsafe { ptr::copy_nonoverlapping(data.as_ptr(), self.bytes_start(), data.len()) }
    }

    /// Copies the beginning of the bytes to `data`. If the other process
    /// writes meanwhile, against the protocol, the copy holds a mixture.
    ///
    /// # Panics
    /// If it is too long.
    #[inline]
    pub fn read(&self, data: &mut [u8]) {
        assert!(data.len() <= self.bytes, "{} bytes of {}", data.len(), self.bytes);
        // SAFETY: as in `write`, with source and target exchanged; every bit
        // pattern is a valid byte.
        unsafe { ptr::copy_nonoverlapping(self.bytes_start(), data.as_mut_ptr(), data.len()) }
    }

    fn bytes_start(&self) -> *mut u8 {
        // SAFETY: the mapping holds all words, so the address lies in it or at
        // its end.
        unsafe { self.start.add(self.words * WORD_STRIDE) }
    }
}

impl Drop for SharedMemory {
    fn drop(&mut self) {
        let length = self.words * WORD_STRIDE + self.bytes;
        // SAFETY: the range was mapped by this value, and no reference into it
        // outlives it. munmap(2) fails only for a bad range.
        let _cannot_fail = unsafe { munmap(self.start.cast::<c_void>(), length) };
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::Ordering;

    use super::*;

    #[test]
    fn two_mappings_see_the_same_memory() {
        let (ours, fd) = SharedMemory::create("test", 2, 100).unwrap();
        let theirs = SharedMemory::open(&fd, 2, 100).unwrap();
        ours.write(b"hello");
        ours.word(1).store(7, Ordering::Release);
        assert_eq!(theirs.word(1).load(Ordering::Acquire), 7);
        let mut data = [0; 5];
        theirs.read(&mut data);
        assert_eq!(&data, b"hello");
    }

    #[test]
    fn a_wrong_size_is_refused() {
        let (_ours, fd) = SharedMemory::create("test", 2, 100).unwrap();
        let error = SharedMemory::open(&fd, 2, 4096).unwrap_err().to_string();
        assert_eq!(error, "shared memory of 356 bytes where 4352 were expected");
    }

    #[test]
    fn nobody_can_shrink_it() {
        let (_ours, fd) = SharedMemory::create("test", 1, 100).unwrap();
        assert!(ftruncate(&fd, 0).is_err());
    }

    #[test]
    #[should_panic(expected = "101 bytes into 100")]
    fn more_than_there_is_room_for_is_not_written() {
        SharedMemory::create("test", 1, 100).unwrap().0.write(&[0; 101]);
    }
}
