//! Signal words and bytes that two processes share.

use std::os::fd::{AsFd, OwnedFd};
use std::sync::atomic::AtomicU32;

use super::region::SharedRegion;
use crate::error::{Error, Result};

/// The distance between words, so that no two of them share a cache line.
const WORD_STRIDE: usize = 128;

/// Memory shared with another process: 32-bit words for signals, each on its
/// own cache line, followed by bytes.
#[derive(Debug)]
pub struct SharedMemory {
    region: SharedRegion,
    words: usize,
    bytes: usize,
}

impl SharedMemory {
    /// New zeroed memory, and the descriptor for another process to map it.
    ///
    /// # Errors
    /// As [`SharedRegion::create`].
    pub fn create(name: &str, words: usize, bytes: usize) -> Result<(Self, OwnedFd)> {
        let (region, fd) = SharedRegion::create(name, words * WORD_STRIDE + bytes)?;
        Ok((Self { region, words, bytes }, fd))
    }

    /// Maps memory that another process has created with the same `words` and
    /// `bytes`.
    ///
    /// # Errors
    /// `Invalid` if the descriptor has another size, and the errors of
    /// [`SharedRegion::open`].
    pub fn open(fd: impl AsFd, words: usize, bytes: usize) -> Result<Self> {
        let length = words * WORD_STRIDE + bytes;
        let region = SharedRegion::open(fd)?;
        if region.len() != length {
            return Err(Error::Invalid(format!(
                "the shared memory has {} bytes instead of {length}",
                region.len()
            )));
        }
        Ok(Self { region, words, bytes })
    }

    /// The word `index`.
    ///
    /// # Panics
    /// If there is no such word.
    #[inline]
    pub fn word(&self, index: usize) -> &AtomicU32 {
        assert!(index < self.words, "word {index} of {}", self.words);
        self.region.word32(index * WORD_STRIDE)
    }

    /// Copies `data` to the beginning of the bytes. The other process must wait
    /// for a word to announce it.
    ///
    /// # Panics
    /// If it is too long.
    #[inline]
    pub fn write(&self, data: &[u8]) {
        assert!(data.len() <= self.bytes, "{} bytes into {}", data.len(), self.bytes);
        self.region.write(self.words * WORD_STRIDE, data);
    }

    /// Copies the beginning of the bytes to `data`. If the other process writes
    /// at the same time, against the protocol, the copy may be mixed.
    ///
    /// # Panics
    /// If it is too long.
    #[inline]
    pub fn read(&self, data: &mut [u8]) {
        assert!(data.len() <= self.bytes, "{} bytes of {}", data.len(), self.bytes);
        self.region.read(self.words * WORD_STRIDE, data);
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::Ordering;

    use rustix::fs::ftruncate;

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
        assert_eq!(error, "the shared memory has 356 bytes instead of 4352");
    }

    #[test]
    fn nobody_can_shrink_it() {
        let (_ours, fd) = SharedMemory::create("test", 1, 100).unwrap();
        assert!(ftruncate(&fd, 0).is_err());
    }

    #[test]
    #[should_panic(expected = "101 bytes into 100")]
    fn writes_beyond_the_end_are_refused() {
        SharedMemory::create("test", 1, 100).unwrap().0.write(&[0; 101]);
    }
}
