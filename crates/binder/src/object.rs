//! The objects in a payload, as the driver's table lists them.

use crate::error::Malformed;
use crate::protocol::{
    BufferObject, FileObject, FlatObject, Handle, Layout, TYPE_BINDER, TYPE_FD, TYPE_HANDLE,
    TYPE_PTR,
};

/// An entry of a payload's table.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Entry {
    /// An object of the process that reads it: its name.
    Own(u64),
    /// An object of another process.
    Remote(Handle),
    /// An open file: its descriptor.
    File(u32),
    /// A buffer outside of the payload.
    Buffer {
        /// Address of the buffer.
        address: u64,
        /// Its length in bytes.
        length: u64,
    },
    /// An entry that this crate does not use: its type.
    Other(u32),
}

/// The entries of a payload, in order. `table` has the offset of each in 8 bytes. A
/// malformed entry is an error, and the entries after it are still read.
pub fn entries<'a>(
    payload: &'a [u8],
    table: &'a [u8],
) -> impl ExactSizeIterator<Item = Result<Entry, Malformed>> + 'a {
    table.chunks(8).map(|mut offset| {
        let left = offset.len();
        let offset = u64::take(&mut offset).ok_or(Malformed::Table { left })?;
        entry(payload, offset)
    })
}

fn entry(payload: &[u8], offset: u64) -> Result<Entry, Malformed> {
    let malformed = Malformed::Object { offset, size: payload.len() };
    let begin = usize::try_from(offset).map_err(|_| malformed)?;
    let bytes = payload.get(begin..).ok_or(malformed)?;
    let kind = u32::take(&mut &bytes[..]).ok_or(malformed)?;
    let entry = match kind {
        TYPE_BINDER => FlatObject::take(&mut &bytes[..]).map(|object| Entry::Own(object.binder)),
        TYPE_HANDLE => {
            FlatObject::take(&mut &bytes[..]).map(|object| Entry::Remote(object.handle()))
        }
        TYPE_FD => FileObject::take(&mut &bytes[..]).map(|object| Entry::File(object.fd)),
        TYPE_PTR => BufferObject::take(&mut &bytes[..])
            .map(|object| Entry::Buffer { address: object.buffer, length: object.length }),
        other => Some(Entry::Other(other)),
    };
    entry.ok_or(malformed)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn table(offsets: &[u64]) -> Vec<u8> {
        offsets.iter().flat_map(|offset| offset.to_ne_bytes()).collect()
    }

    #[test]
    fn an_entry_must_lie_completely_in_the_payload() {
        let mut payload = vec![0; 4];
        FlatObject::of_handle(Handle(3)).put(&mut payload);
        let found: Vec<_> = entries(&payload, &table(&[4, 5, 24, 28, 29, u64::MAX])).collect();
        let outside = |offset| Err(Malformed::Object { offset, size: 28 });
        assert_eq!(found[0], Ok(Entry::Remote(Handle(3))));
        assert!(matches!(found[1], Ok(Entry::Other(_))), "an unknown type");
        assert_eq!(found[2], Ok(Entry::Other(0)));
        assert_eq!(found[3..], [28, 29, u64::MAX].map(outside));
    }

    #[test]
    fn a_known_entry_that_ends_early_is_an_error() {
        for (kind, size) in [(TYPE_BINDER, 24), (TYPE_HANDLE, 24), (TYPE_FD, 24), (TYPE_PTR, 40)] {
            let mut payload = kind.to_ne_bytes().to_vec();
            payload.resize(size, 0);
            assert!(entries(&payload, &table(&[0])).all(|entry| entry.is_ok()));
            payload.truncate(size - 1);
            let error = Malformed::Object { offset: 0, size: size - 1 };
            assert_eq!(entries(&payload, &table(&[0])).next(), Some(Err(error)));
        }
    }

    #[test]
    fn a_table_that_ends_within_an_offset_is_an_error() {
        let mut entries = entries(&[], &[0; 3]);
        assert_eq!(entries.len(), 1);
        assert_eq!(entries.next(), Some(Err(Malformed::Table { left: 3 })));
    }

    proptest! {
        #[test]
        fn no_bytes_make_it_panic(
            payload in prop::collection::vec(any::<u8>(), 0..100),
            offsets in prop::collection::vec(prop_oneof![0..100_u64, any::<u64>()], 0..10),
            kind in prop::sample::select(&[TYPE_BINDER, TYPE_HANDLE, TYPE_FD, TYPE_PTR][..]),
        ) {
            let payload = [&kind.to_ne_bytes()[..], &payload].concat();
            prop_assert_eq!(entries(&payload, &table(&offsets)).count(), offsets.len());
        }
    }
}
