//! A payload in the mapping.

use std::os::fd::{FromRawFd, OwnedFd, RawFd};

use crate::error::Malformed;
use crate::mapping::Mapping;
use crate::object::{Entry, entries};
use crate::protocol::{TF_ONE_WAY, TF_STATUS_CODE, TransactionData};

/// A payload that the driver has put in the mapping, until it is given back.
/// Each payload has exactly one delivery, which cannot be copied.
#[derive(Debug)]
pub(crate) struct Delivery {
    pub(super) transaction: TransactionData,
}

impl Delivery {
    /// The driver's description of the payload.
    pub(crate) fn transaction(&self) -> &TransactionData {
        &self.transaction
    }

    /// Whether the payload is a bare status.
    pub(crate) fn is_status(&self) -> bool {
        self.transaction.flags & TF_STATUS_CODE != 0
    }

    /// Whether the caller does not wait for a reply.
    pub(crate) fn is_one_way(&self) -> bool {
        self.transaction.flags & TF_ONE_WAY != 0
    }

    /// The payload's bytes.
    pub(crate) fn bytes<'a>(&'a self, mapping: &'a Mapping) -> Result<&'a [u8], Malformed> {
        let TransactionData { buffer, data_size, .. } = self.transaction;
        // SAFETY: the driver has delivered the payload, as this value shows,
        // and it is given back only by a command that consumes this value,
        // which the borrow prevents (include/uapi/linux/android/binder.h).
        unsafe { mapping.payload(buffer, data_size) }
    }

    /// Whether it takes up at most `limit` bytes of the mapping. The lengths of its
    /// buffers are in the table only.
    pub(super) fn fits(&self, limit: u64, mapping: &Mapping) -> bool {
        let TransactionData { data_size, offsets_size, .. } = self.transaction;
        let size = data_size.saturating_add(offsets_size);
        if offsets_size == 0 || size > limit {
            return size <= limit;
        }
        let (Ok(bytes), Ok(table)) = (self.bytes(mapping), self.table(mapping)) else {
            return false;
        };
        let size = entries(bytes, table).try_fold(size, |size, entry| match entry {
            Ok(Entry::Buffer { length, .. }) => Ok(size.saturating_add(length)),
            Ok(_) => Ok(size),
            Err(malformed) => Err(malformed),
        });
        size.is_ok_and(|size| size <= limit)
    }

    /// The table of the objects in the payload.
    pub(crate) fn table<'a>(&'a self, mapping: &'a Mapping) -> Result<&'a [u8], Malformed> {
        let TransactionData { offsets, offsets_size, .. } = self.transaction;
        if offsets_size == 0 {
            return Ok(&[]);
        }
        // SAFETY: as for the payload's bytes.
        unsafe { mapping.payload(offsets, offsets_size) }
    }

    /// A buffer that an object of the payload points to. It lies after the table.
    pub(crate) fn buffer<'a>(
        &'a self,
        mapping: &'a Mapping,
        address: u64,
        size: u64,
    ) -> Result<&'a [u8], Malformed> {
        let TransactionData { offsets, offsets_size, .. } = self.transaction;
        if address < offsets.saturating_add(offsets_size) {
            return Err(Malformed::OutsideMapping { address, size });
        }
        // SAFETY: as for the payload's bytes.
        unsafe { mapping.payload(address, size) }
    }

    /// Closes the files in the payload, and returns the address by which it is given
    /// back.
    pub(crate) fn into_address(self, mapping: &Mapping) -> u64 {
        if self.transaction.offsets_size > 0
            && let (Ok(bytes), Ok(table)) = (self.bytes(mapping), self.table(mapping))
        {
            for fd in entries(bytes, table).filter_map(file) {
                // SAFETY: the driver has put the descriptor in this process's
                // table for this payload, and nothing borrows it any more, as
                // nothing borrows the payload (drivers/android/binder.c).
                drop(unsafe { OwnedFd::from_raw_fd(fd) });
            }
        }
        self.transaction.buffer
    }
}

fn file(entry: Result<Entry, Malformed>) -> Option<RawFd> {
    match entry {
        Ok(Entry::File(fd)) => RawFd::try_from(fd).ok(),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::protocol::{BufferObject, Layout, TYPE_PTR};

    /// A delivery of `size` bytes that begin with an entry for a buffer of `length`
    /// bytes. Its table has one entry, which points to `entry`.
    fn with_buffer(mapping: &Mapping, size: u64, length: u64, entry: u64) -> Delivery {
        let mut bytes = Vec::new();
        BufferObject { kind: TYPE_PTR, length, ..BufferObject::default() }.put(&mut bytes);
        let transaction = TransactionData {
            buffer: mapping.deliver(0, &bytes),
            data_size: size,
            offsets: mapping.deliver(2048, &entry.to_ne_bytes()),
            offsets_size: 8,
            ..TransactionData::default()
        };
        Delivery { transaction }
    }

    #[test]
    fn the_buffers_that_go_with_a_payload_count() {
        let mapping = Mapping::anonymous(4096);
        let fits =
            |size, length, entry| with_buffer(&mapping, size, length, entry).fits(1024, &mapping);
        assert!(fits(40, 1024 - 48, 0));
        assert!(!fits(40, 1024 - 47, 0));
        assert!(!fits(40, u64::MAX, 0));
        assert!(fits(1016, 0, 0));
        assert!(!fits(1017, 0, 0), "the table counts, too");
        assert!(!fits(40, 0, 40), "the entry is outside of the payload");
        let mut nowhere = with_buffer(&mapping, 40, 0, 0);
        nowhere.transaction.offsets = 1;
        assert!(!nowhere.fits(1024, &mapping));
        nowhere.transaction.offsets_size = 0;
        assert!(nowhere.fits(1024, &mapping), "there is no table");
    }
}
