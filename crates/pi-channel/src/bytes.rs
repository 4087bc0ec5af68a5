//! Payloads in memory that another process may change at any moment.
//!
//! There is no `&[u8]` into such memory, because the compiler may read it twice
//! and rely on equal values. Bytes are copied, each read or written once. If a
//! hostile peer changes them meanwhile, the copy is a mixture of old and new.

use std::fmt;
use std::marker::PhantomData;

use crate::copy;
use crate::error::{Error, Result};

/// A request or reply of the other process, in shared memory.
#[derive(Clone, Copy)]
pub struct SharedBytes<'a> {
    start: *const u8,
    length: usize,
    lane: PhantomData<&'a ()>,
}

impl SharedBytes<'_> {
    /// # Safety
    /// The bytes are mapped for the lifetime, and this process makes no
    /// reference to them.
    pub(crate) unsafe fn new(start: *const u8, length: usize) -> Self {
        Self { start, length, lane: PhantomData }
    }

    /// Length in bytes.
    pub fn len(&self) -> usize {
        self.length
    }

    /// Whether the length is 0.
    pub fn is_empty(&self) -> bool {
        self.length == 0
    }

    /// Copies the bytes from `offset` on to `target`, as many as fit, and
    /// returns their number.
    #[inline]
    pub fn read_at(&self, offset: usize, target: &mut [u8]) -> usize {
        let count = self.length.saturating_sub(offset).min(target.len());
        // SAFETY: `count` bytes from `offset` on lie within the bytes, which are
        // mapped and without references (`new`); beyond the end, the count is 0.
        unsafe { copy::from_shared(self.start.wrapping_add(offset), &mut target[..count]) };
        count
    }

    /// Copies all bytes to the beginning of `target`.
    ///
    /// # Errors
    /// [`Error::TooLong`] if they do not fit; then nothing is copied.
    #[inline]
    pub fn read<'t>(&self, target: &'t mut [u8]) -> Result<&'t mut [u8]> {
        let capacity = target.len();
        let Some(target) = target.get_mut(..self.length) else {
            return Err(Error::TooLong { length: self.length, capacity });
        };
        self.read_at(0, target);
        Ok(target)
    }

    /// The address of the bytes, for access in place with volatile or atomic
    /// reads. The memory may change between any two reads.
    pub fn as_ptr(&self) -> *const u8 {
        self.start
    }
}

impl fmt::Debug for SharedBytes<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} shared bytes", self.length)
    }
}

/// A buffer for a request or reply in shared memory, filled from its beginning.
pub struct Outgoing<'a> {
    start: *mut u8,
    capacity: usize,
    length: usize,
    lane: PhantomData<&'a mut ()>,
}

impl Outgoing<'_> {
    /// # Safety
    /// As for [`SharedBytes::new`].
    pub(crate) unsafe fn new(start: *mut u8, capacity: usize) -> Self {
        Self { start, capacity, length: 0, lane: PhantomData }
    }

    /// Number of bytes written.
    pub fn len(&self) -> usize {
        self.length
    }

    /// Whether nothing was written.
    pub fn is_empty(&self) -> bool {
        self.length == 0
    }

    /// Size of the buffer in bytes.
    pub fn capacity(&self) -> usize {
        self.capacity
    }

    /// Appends `source`.
    ///
    /// # Errors
    /// [`Error::TooLong`] if it does not fit; then nothing is written.
    #[inline]
    pub fn write(&mut self, source: &[u8]) -> Result<()> {
        if source.len() > self.capacity - self.length {
            let length = self.length.saturating_add(source.len());
            return Err(Error::TooLong { length, capacity: self.capacity });
        }
        // SAFETY: the bytes lie within the buffer, which is mapped and without
        // references (`new`).
        unsafe { copy::to_shared(source, self.start.wrapping_add(self.length)) };
        self.length += source.len();
        Ok(())
    }

    /// Discards the bytes written so far.
    pub fn clear(&mut self) {
        self.length = 0;
    }

    /// The address of the buffer, for volatile or atomic writes in place. The
    /// other process can read and change the bytes meanwhile.
    pub fn as_mut_ptr(&mut self) -> *mut u8 {
        self.start
    }

    /// Sets the length after writing in place. Bytes that were not written keep
    /// their old values.
    ///
    /// # Errors
    /// [`Error::TooLong`] if the buffer is smaller.
    pub fn set_len(&mut self, length: usize) -> Result<()> {
        if length > self.capacity {
            return Err(Error::TooLong { length, capacity: self.capacity });
        }
        self.length = length;
        Ok(())
    }
}

impl fmt::Debug for Outgoing<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} of {} shared bytes", self.length, self.capacity)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Sixty-four bytes, aligned to eight.
    fn room() -> Vec<u64> {
        vec![0; 8]
    }

    proptest! {
        #[test]
        fn what_is_written_is_read(
            parts in prop::collection::vec(prop::collection::vec(any::<u8>(), 0..20), 0..4),
            offset in 0..80_usize,
            take in 0..80_usize,
        ) {
            let mut memory = room();
            // SAFETY: the vector is aligned, lives to the end, and is not used
            // otherwise.
            let mut out = unsafe { Outgoing::new(memory.as_mut_ptr().cast(), 64) };
            let mut expected = Vec::new();
            for part in &parts {
                if expected.len() + part.len() <= 64 {
                    out.write(part).unwrap();
                    expected.extend_from_slice(part);
                } else {
                    prop_assert!(out.write(part).is_err());
                }
            }
            prop_assert_eq!(out.len(), expected.len());
            // SAFETY: as above.
            let bytes = unsafe { SharedBytes::new(memory.as_ptr().cast(), expected.len()) };
            let mut target = vec![0xEE; take];
            let count = bytes.read_at(offset, &mut target);
            let from = &expected[offset.min(expected.len())..];
            prop_assert_eq!(count, from.len().min(take));
            prop_assert_eq!(&target[..count], &from[..count]);
            prop_assert!(target[count..].iter().all(|byte| *byte == 0xEE));
        }
    }

    #[test]
    fn a_short_target_gets_nothing() {
        let memory = room();
        // SAFETY: as above.
        let bytes = unsafe { SharedBytes::new(memory.as_ptr().cast(), 5) };
        let error = bytes.read(&mut [0; 4]).unwrap_err().to_string();
        assert_eq!(error, "5 bytes do not fit into a buffer of 4 bytes");
        assert_eq!(bytes.read(&mut [1; 6]).unwrap(), [0; 5]);
    }

    #[test]
    fn a_length_beyond_the_capacity_is_refused() {
        let mut memory = room();
        // SAFETY: as above.
        let mut out = unsafe { Outgoing::new(memory.as_mut_ptr().cast(), 64) };
        assert!(out.set_len(65).is_err());
        out.set_len(64).unwrap();
        assert!(out.write(&[1]).is_err());
        out.clear();
        assert!(out.is_empty());
    }
}
