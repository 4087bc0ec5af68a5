//! Received payloads, in the mapping.

use std::ops::Deref;
use std::os::fd::{BorrowedFd, RawFd};
use std::sync::Arc;

use crate::driver::Driver;
use crate::error::{Error, Malformed, Result};
use crate::exchange::Delivery;
use crate::object::{Entry, entries};
use crate::protocol::Handle;
use crate::reference::Reference;

/// A payload in the mapping. It dereferences to its bytes; [`items`](Self::items) are
/// its objects, files and buffers.
#[derive(Debug, Clone, Copy)]
pub struct Received<'a> {
    driver: &'a Arc<dyn Driver>,
    /// None for a reply that is a bare status.
    delivery: Option<&'a Delivery>,
    bytes: &'a [u8],
    /// The name in errors of the command that it answers.
    command: &'static str,
}

/// An entry of a payload that the driver has translated for this process.
#[derive(Debug, Clone, Copy)]
pub enum Item<'a> {
    /// An object of this process: its name.
    Own(u64),
    /// An object of another process. The handle is valid until the payload is given
    /// back, or as long as there is a [`Reference`] to the object.
    Remote(Handle),
    /// An open file, closed when the payload is given back.
    File(BorrowedFd<'a>),
    /// A buffer in the mapping.
    Buffer(&'a [u8]),
    /// An entry that this crate does not use: its type.
    Other(u32),
}

impl<'a> Received<'a> {
    pub(crate) fn new(
        driver: &'a Arc<dyn Driver>,
        delivery: &'a Delivery,
        command: &'static str,
    ) -> Result<Self> {
        let received = Self { driver, delivery: Some(delivery), bytes: &[], command };
        match delivery.bytes(driver.mapping()) {
            Ok(bytes) => Ok(Self { bytes, ..received }),
            Err(malformed) => Err(received.malformed(malformed)),
        }
    }

    /// An empty payload.
    pub(crate) fn empty(driver: &'a Arc<dyn Driver>, command: &'static str) -> Self {
        Self { driver, delivery: None, bytes: &[], command }
    }

    /// The payload's bytes.
    pub fn bytes(&self) -> &'a [u8] {
        self.bytes
    }

    /// The objects, files and buffers in the payload, in their order.
    ///
    /// # Errors
    /// [`Error::Malformed`] for items that violate the protocol or do not lie in the
    /// mapping.
    pub fn items(&self) -> impl Iterator<Item = Result<Item<'a>>> + use<'a> {
        let received = *self;
        let (table, bad_table) = match received.table() {
            Ok(table) => (table, None),
            Err(malformed) => (&[][..], Some(Err(received.malformed(malformed)))),
        };
        let items = entries(received.bytes, table)
            .map(move |entry| entry.and_then(|entry| received.item(entry)))
            .map(move |item| item.map_err(|malformed| received.malformed(malformed)));
        bad_table.into_iter().chain(items)
    }

    /// A reference to the remote object at this position among the
    /// [`items`](Self::items). It outlives the payload.
    ///
    /// # Errors
    /// [`Error::Malformed`] if the item is not a remote object, and the kernel's.
    pub fn reference(&self, position: usize) -> Result<Reference> {
        match self.items().nth(position).transpose()? {
            Some(Item::Remote(handle)) => Reference::acquire(self.driver, handle),
            _ => Err(self.malformed(Malformed::NoReference { position })),
        }
    }

    fn table(&self) -> Result<&'a [u8], Malformed> {
        self.delivery.map_or(Ok(&[]), |delivery| delivery.table(self.driver.mapping()))
    }

    fn item(&self, entry: Entry) -> Result<Item<'a>, Malformed> {
        Ok(match entry {
            Entry::Own(name) => Item::Own(name),
            Entry::Remote(handle) => Item::Remote(handle),
            Entry::File(fd) => Item::File(borrow(fd)?),
            Entry::Buffer { address, length } => match self.delivery {
                Some(delivery) => {
                    Item::Buffer(delivery.buffer(self.driver.mapping(), address, length)?)
                }
                None => Item::Buffer(&[]),
            },
            Entry::Other(kind) => Item::Other(kind),
        })
    }

    fn malformed(&self, malformed: Malformed) -> Error {
        let device = self.driver.device().to_owned();
        Error::Malformed { device, command: self.command, malformed }
    }
}

impl Deref for Received<'_> {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        self.bytes
    }
}

fn borrow<'a>(fd: u32) -> Result<BorrowedFd<'a>, Malformed> {
    let fd = RawFd::try_from(fd).map_err(|_| Malformed::File { fd })?;
    // SAFETY: the driver has put the descriptor in this process's table for
    // the payload, and it is closed only when the payload is given back, which
    // its borrow prevents (drivers/android/binder.c); it is not -1.
    Ok(unsafe { BorrowedFd::borrow_raw(fd) })
}

#[cfg(test)]
mod tests {
    use std::fs::File;
    use std::io;
    use std::os::fd::{AsRawFd, IntoRawFd};

    use proptest::prelude::*;
    use rustix::io::fcntl_getfd;

    use super::*;
    use crate::client::Client;
    use crate::mapping::Mapping;
    use crate::protocol::{
        BC_ACQUIRE, BC_DECREFS, BC_FREE_BUFFER, BC_INCREFS, BC_RELEASE, BR_REPLY, BufferObject,
        FileObject, FlatObject, Layout, TYPE_BINDER, TYPE_FD, TYPE_PTR, TransactionData,
    };
    use crate::scripted::{Bytes, Scripted, Step};

    /// Offsets in the mapping of the payload, its table and a buffer.
    const PLACES: [usize; 3] = [64, 512, 768];

    /// Puts an entry into a payload.
    type Put<'a> = &'a dyn Fn(&mut Vec<u8>);

    fn put(entries: &[Put<'_>]) -> (Vec<u8>, Vec<u8>) {
        let (mut payload, mut table) = (Vec::new(), Vec::new());
        for put in entries {
            (payload.len() as u64).put(&mut table);
            put(&mut payload);
        }
        (payload, table)
    }

    /// A reply with these bytes and this table.
    fn reply(mapping: &Mapping, payload: &[u8], table: &[u8]) -> TransactionData {
        TransactionData {
            buffer: mapping.deliver(PLACES[0], payload),
            data_size: payload.len() as u64,
            offsets: mapping.deliver(PLACES[1], table),
            offsets_size: table.len() as u64,
            ..TransactionData::default()
        }
    }

    fn client(
        mapping: Mapping,
        data: &TransactionData,
        then: Vec<Step>,
    ) -> (Arc<Scripted>, Client) {
        let step = Step::whatever(Bytes::default().with(BR_REPLY, data).into());
        let driver = Arc::new(Scripted::over(mapping, [step].into_iter().chain(then)));
        (Arc::clone(&driver), Client::new(driver))
    }

    #[test]
    fn items_are_read_where_they_are() {
        let mapping = Mapping::anonymous(4096);
        let buffer = mapping.deliver(PLACES[2], b"outside");
        let own = FlatObject { kind: TYPE_BINDER, binder: 5, ..FlatObject::default() };
        let outside = BufferObject { kind: TYPE_PTR, buffer, length: 7, ..BufferObject::default() };
        let (payload, table) = put(&[
            &|bytes| own.put(bytes),
            &|bytes| FlatObject::of_handle(Handle(6)).put(bytes),
            &|bytes| outside.put(bytes),
            &|bytes| 9_u32.put(bytes),
        ]);
        let data = reply(&mapping, &payload, &table);
        let (_, mut client) = client(mapping, &data, Vec::new());
        let reply = client.call_in_place(Handle(1), 1, b"").unwrap();
        assert_eq!(*reply, payload);
        let items: Vec<_> = reply.items().map(Result::unwrap).collect();
        let [Item::Own(5), Item::Remote(Handle(6)), Item::Buffer(bytes), Item::Other(9)] =
            items[..]
        else {
            panic!("{items:?}")
        };
        assert_eq!((bytes, bytes.as_ptr().addr() as u64), (&b"outside"[..], buffer));
    }

    #[test]
    fn a_reference_is_taken_at_once_and_dropped_with_its_owner() {
        let mapping = Mapping::anonymous(4096);
        let (payload, table) =
            put(&[&|bytes| FlatObject::of_handle(Handle(6)).put(bytes), &|bytes| {
                FlatObject { kind: TYPE_BINDER, ..Default::default() }.put(bytes);
            }]);
        let data = reply(&mapping, &payload, &table);
        let six = Handle(6);
        let (driver, mut client) = client(
            mapping,
            &data,
            vec![
                Step::sends(Bytes::default().with(BC_INCREFS, &six.0).with(BC_ACQUIRE, &six.0)),
                Step::sends(Bytes::default().with(BC_FREE_BUFFER, &data.buffer)),
                Step::sends(Bytes::default().with(BC_RELEASE, &six.0).with(BC_DECREFS, &six.0)),
            ],
        );
        let reply = client.call_in_place(Handle(1), 1, b"").unwrap();
        let reference = reply.reference(0).unwrap();
        for position in [1, 2, usize::MAX] {
            let error = reply.reference(position).unwrap_err().to_string();
            let expected = format!("item {position} is not an object of another process");
            assert!(error.ends_with(&expected), "{error}");
        }
        assert_eq!((reference.handle(), Handle::from(&reference)), (six, six));
        client.give_back().unwrap();
        assert_eq!(driver.left(), 1, "the reference outlives the payload");
        drop(reference);
        assert_eq!(driver.left(), 0);
    }

    #[test]
    fn a_file_is_closed_with_the_payload_and_not_before() {
        let mapping = Mapping::anonymous(4096);
        let file = File::open("/dev/null").unwrap();
        let fd = file.as_raw_fd();
        let (payload, table) = put(&[
            &|bytes| {
                FileObject { kind: TYPE_FD, fd: fd.cast_unsigned(), ..Default::default() }
                    .put(bytes);
            },
            &|bytes| FileObject { kind: TYPE_FD, fd: u32::MAX, ..Default::default() }.put(bytes),
        ]);
        let data = reply(&mapping, &payload, &table);
        let (_, mut client) = client(mapping, &data, vec![Step::whatever(Vec::new())]);
        // Now it belongs to the payload, as if the driver had put it in our table.
        assert_eq!(file.into_raw_fd(), fd);
        let reply = client.call_in_place(Handle(1), 1, b"").unwrap();
        let items: Vec<_> = reply.items().collect();
        let [Ok(Item::File(file)), Err(Error::Malformed { malformed, .. })] = &items[..] else {
            panic!("{items:?}")
        };
        assert_eq!(*malformed, Malformed::File { fd: u32::MAX });
        let kept = file.try_clone_to_owned().unwrap();
        client.give_back().unwrap();
        fcntl_getfd(&kept).unwrap();
        // SAFETY: only checks whether there is such a descriptor.
        let gone = fcntl_getfd(unsafe { BorrowedFd::borrow_raw(fd) });
        // Another test may have been given the number already.
        if let Err(error) = gone {
            assert_eq!(io::Error::from(error).raw_os_error(), Some(libc::EBADF));
        }
    }

    #[test]
    fn a_buffer_must_lie_behind_the_table_and_in_the_mapping() {
        for (buffer, length) in
            [(PLACES[0], 8), (PLACES[1], 8), (PLACES[1] + 7, 1), (4000, 97), (4097, 0)]
        {
            let mapping = Mapping::anonymous(4096);
            let buffer = mapping.deliver(0, &[]) + buffer as u64;
            let outside =
                BufferObject { kind: TYPE_PTR, buffer, length, ..BufferObject::default() };
            let (payload, table) = put(&[&|bytes| outside.put(bytes)]);
            let data = reply(&mapping, &payload, &table);
            let (_, mut client) = client(mapping, &data, Vec::new());
            let reply = client.call_in_place(Handle(1), 1, b"").unwrap();
            let item = reply.items().next().unwrap();
            let Err(Error::Malformed { malformed, .. }) = item else { panic!("{item:?}") };
            assert_eq!(malformed, Malformed::OutsideMapping { address: buffer, size: length });
        }
    }

    proptest! {
        #[test]
        fn a_table_is_read_from_the_mapping_or_not_at_all(
            offset in -5000_i64..5000, size in prop_oneof![0..5000_u64, any::<u64>()]
        ) {
            let mapping = Mapping::anonymous(4096);
            let data = reply(&mapping, &[0; 64], &[]);
            let offsets = data.offsets.wrapping_add_signed(offset);
            let data = TransactionData { offsets, offsets_size: size, ..data };
            let (_, mut client) = client(mapping, &data, vec![Step::whatever(Vec::new())]);
            let reply = client.call_in_place(Handle(1), 1, b"").unwrap();
            let items: Vec<_> = reply.items().collect();
            let outside = matches!(
                items[..],
                [Err(Error::Malformed { malformed: Malformed::OutsideMapping { .. }, .. })]
            );
            prop_assert!(outside || items.len() as u64 == size.div_ceil(8));
        }
    }
}
