//! The mapping: memory in which the driver puts payloads for this process.

use std::io;
use std::os::fd::AsFd;
use std::{ptr, slice};

use rustix::mm::{MapFlags, ProtFlags, mmap, munmap};

use crate::error::Malformed;

/// A mapping of an open binder device. Unmapped when dropped.
#[derive(Debug)]
pub struct Mapping {
    start: *mut u8,
    length: usize,
}

// SAFETY: the mapping belongs to this value alone, memory is not tied to the
// thread that mapped it, and it is only read.
unsafe impl Send for Mapping {}
// SAFETY: as above.
unsafe impl Sync for Mapping {}

impl Mapping {
    /// Maps `length` bytes of an open device. The driver allows one mapping for each
    /// open device, and uses at most 4 MiB of it.
    pub(crate) fn of_device(device: impl AsFd, length: usize) -> io::Result<Self> {
        let flags = MapFlags::PRIVATE | MapFlags::NORESERVE;
        // SAFETY: a new mapping at an address of the kernel's choice overlaps
        // nothing (mmap(2)).
        let start =
            unsafe { mmap(ptr::null_mut(), length, ProtFlags::READ, flags, device.as_fd(), 0)? };
        Ok(Self { start: start.cast(), length })
    }

    /// The length in bytes.
    pub fn length(&self) -> usize {
        self.length
    }

    /// The offset in the mapping of a payload of `size` bytes at `address`.
    pub(crate) fn position(&self, address: u64, size: u64) -> Result<usize, Malformed> {
        let position = |address: u64, size: u64| {
            let begin = usize::try_from(address).ok()?.checked_sub(self.start.addr())?;
            let end = begin.checked_add(usize::try_from(size).ok()?)?;
            (end <= self.length).then_some(begin)
        };
        position(address, size).ok_or(Malformed::OutsideMapping { address, size })
    }

    /// The payload of `size` bytes at `address`.
    ///
    /// # Safety
    /// The bytes, if they are in the mapping, belong to a payload that the
    /// driver has delivered and that is not given back while they are in use.
    pub(crate) unsafe fn payload(&self, address: u64, size: u64) -> Result<&[u8], Malformed> {
        let begin = self.position(address, size)?;
        // SAFETY: the range lies in the mapping, which is readable and lives
        // as long as the borrow; the driver does not write a payload that it
        // has delivered (the caller's promise).
        Ok(unsafe { slice::from_raw_parts(self.start.add(begin), size as usize) })
    }
}

impl Drop for Mapping {
    fn drop(&mut self) {
        // SAFETY: the range was mapped by this value, which nothing uses any more
        // (munmap(2)).
        let _unmapped = unsafe { munmap(self.start.cast(), self.length) };
    }
}

#[cfg(test)]
impl Mapping {
    /// Memory without a device, in which a test plays the driver.
    pub(crate) fn anonymous(length: usize) -> Self {
        let access = ProtFlags::READ | ProtFlags::WRITE;
        // SAFETY: as for a device.
        let start = unsafe {
            rustix::mm::mmap_anonymous(ptr::null_mut(), length, access, MapFlags::PRIVATE)
        };
        Self { start: start.unwrap().cast(), length }
    }

    /// Puts a payload at the byte `at`, and returns its address.
    pub(crate) fn deliver(&self, at: usize, payload: &[u8]) -> u64 {
        assert!(at + payload.len() <= self.length);
        // SAFETY: the range lies in the mapping, which a test makes writable;
        // the test has handed out no payload yet.
        unsafe { ptr::copy(payload.as_ptr(), self.start.add(at), payload.len()) };
        (self.start.addr() + at) as u64
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const LENGTH: usize = 8192;

    #[test]
    fn a_payload_is_read_where_it_was_put() {
        let mapping = Mapping::anonymous(LENGTH);
        let address = mapping.deliver(LENGTH - 3, b"end");
        // SAFETY: the bytes were delivered above.
        assert_eq!(unsafe { mapping.payload(address, 3) }.unwrap(), b"end");
    }

    #[test]
    fn a_payload_must_lie_in_the_mapping_whole() {
        let mapping = Mapping::anonymous(LENGTH);
        let start = mapping.deliver(0, &[]);
        let end = start + LENGTH as u64;
        for (address, size) in [
            (start - 1, 1),
            (start - 1, 2),
            (0, 0),
            (end - 1, 2),
            (end + 1, 0),
            (start, LENGTH as u64 + 1),
            (start, u64::MAX),
            (u64::MAX, 1),
            (u64::MAX, u64::MAX),
        ] {
            assert_eq!(
                mapping.position(address, size),
                Err(Malformed::OutsideMapping { address, size })
            );
        }
        assert_eq!(mapping.position(start, LENGTH as u64), Ok(0));
        assert_eq!(mapping.position(end, 0), Ok(LENGTH));
    }

    proptest! {
        #[test]
        fn positions_outside_are_refused(
            offset in -20_000_i64..20_000, size in prop_oneof![0..20_000_u64, any::<u64>()]
        ) {
            let mapping = Mapping::anonymous(LENGTH);
            let start = mapping.deliver(0, &[]);
            let inside = offset >= 0 && size <= LENGTH as u64
                && offset as u64 + size <= LENGTH as u64;
            let address = start.wrapping_add_signed(offset);
            prop_assert_eq!(mapping.position(address, size).is_ok(), inside);
        }
    }
}
