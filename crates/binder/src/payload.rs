//! Payloads to send: bytes, objects, files and buffers.

use std::os::fd::{AsRawFd, OwnedFd};

use crate::protocol::{
    BufferObject, FileObject, FlatObject, Handle, Layout, NodeFlags, TYPE_BINDER, TYPE_FD, TYPE_PTR,
};

/// An object of this process, as it is offered to others.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Object {
    /// The process's own name for it, by which a server knows which object is called.
    /// 0 is the context manager's.
    pub name: u64,
    /// Its requests to the driver; only those of its first offer count.
    pub flags: NodeFlags,
}

/// A payload under construction. Bytes are sent unchanged; objects, files and buffers
/// are entries of a table, which the driver translates for the receiver. A cleared
/// payload keeps its memory.
#[derive(Debug, Default)]
pub struct Payload {
    bytes: Vec<u8>,
    offsets: Vec<u64>,
    files: Vec<OwnedFd>,
    /// The contents of all buffers, each rounded up to 8 bytes.
    arena: Vec<u8>,
    /// The offsets of each buffer's entry in `bytes`, and of its content in `arena`.
    buffers: Vec<(usize, usize)>,
}

impl Payload {
    /// An empty payload.
    pub fn new() -> Self {
        Self::default()
    }

    /// Drops its content.
    pub fn clear(&mut self) {
        self.bytes.clear();
        self.offsets.clear();
        self.files.clear();
        self.arena.clear();
        self.buffers.clear();
    }

    /// Its length in bytes, entries of the table included.
    pub fn len(&self) -> usize {
        self.bytes.len()
    }

    /// Whether it has no bytes and no entries.
    pub fn is_empty(&self) -> bool {
        self.bytes.is_empty()
    }

    /// Appends bytes.
    pub fn extend_from_slice(&mut self, bytes: &[u8]) {
        self.bytes.extend_from_slice(bytes);
    }

    /// Appends bytes, and returns them for changes in place.
    pub fn append(&mut self, bytes: &[u8]) -> &mut [u8] {
        let begin = self.bytes.len();
        self.bytes.extend_from_slice(bytes);
        &mut self.bytes[begin..]
    }

    /// Appends a byte.
    pub fn push(&mut self, byte: u8) {
        self.bytes.push(byte);
    }

    /// Appends an object of this process. The receiver gets a handle of it.
    pub fn put_object(&mut self, object: Object) {
        self.put_entry(&FlatObject {
            kind: TYPE_BINDER,
            flags: object.flags.0,
            binder: object.name,
            cookie: object.name,
        });
    }

    /// Appends an object of another process, to which this process must hold a
    /// reference. The receiver gets its own handle for it, or the object itself if it
    /// belongs to the receiver.
    pub fn put_handle(&mut self, handle: impl Into<Handle>) {
        self.put_entry(&FlatObject::of_handle(handle.into()));
    }

    /// Appends an open file, which is closed here when the payload is cleared or
    /// dropped. The receiver gets its own descriptor.
    pub fn put_file(&mut self, file: impl Into<OwnedFd>) {
        let file = file.into();
        let fd = file.as_raw_fd().cast_unsigned();
        self.put_entry(&FileObject { kind: TYPE_FD, fd, ..FileObject::default() });
        self.files.push(file);
    }

    /// Appends a buffer: bytes that travel outside of the payload, and begin on an
    /// 8-byte boundary in the receiver.
    pub fn put_buffer(&mut self, bytes: &[u8]) {
        let was = self.arena.as_ptr();
        let begin = self.arena.len();
        self.arena.extend_from_slice(bytes);
        self.arena.resize(self.arena.len().next_multiple_of(8), 0);
        let length = bytes.len() as u64;
        let entry = self.put_entry(&BufferObject { kind: TYPE_PTR, length, ..Default::default() });
        self.buffers.push((entry, begin));
        let moved = self.arena.as_ptr() != was;
        let first = if moved { 0 } else { self.buffers.len() - 1 };
        for &(entry, begin) in &self.buffers[first..] {
            let address = self.arena.as_ptr().wrapping_add(begin) as u64;
            self.bytes[entry + 8..entry + 16].copy_from_slice(&address.to_ne_bytes());
        }
    }

    /// Appends an entry of the table, on a 4-byte boundary as the driver demands, and
    /// returns its offset.
    fn put_entry(&mut self, entry: &impl Layout) -> usize {
        self.bytes.resize(self.bytes.len().next_multiple_of(4), 0);
        let at = self.bytes.len();
        self.offsets.push(at as u64);
        entry.put(&mut self.bytes);
        at
    }
}

impl Extend<u8> for Payload {
    fn extend<I: IntoIterator<Item = u8>>(&mut self, bytes: I) {
        self.bytes.extend(bytes);
    }
}

/// A borrowed payload to which a command points.
#[derive(Debug, Clone, Copy)]
pub struct Body<'a> {
    pub(crate) bytes: &'a [u8],
    pub(crate) offsets: &'a [u64],
    /// Bytes of all buffers, if there are any.
    pub(crate) buffers: Option<u64>,
}

impl<'a> From<&'a [u8]> for Body<'a> {
    fn from(bytes: &'a [u8]) -> Self {
        Self { bytes, offsets: &[], buffers: None }
    }
}

impl<'a, const N: usize> From<&'a [u8; N]> for Body<'a> {
    fn from(bytes: &'a [u8; N]) -> Self {
        Self::from(&bytes[..])
    }
}

impl<'a> From<&'a Payload> for Body<'a> {
    fn from(payload: &'a Payload) -> Self {
        let buffers = (!payload.buffers.is_empty()).then_some(payload.arena.len() as u64);
        Self { bytes: &payload.bytes, offsets: &payload.offsets, buffers }
    }
}

/// Memory for the entries of buffers that are sent without a copy.
#[derive(Debug, Default)]
pub(crate) struct Gather {
    entries: Vec<u8>,
    offsets: Vec<u64>,
}

impl Gather {
    /// A payload of these buffers only. Allocates only if there are more buffers than
    /// in any call before.
    pub(crate) fn gather<'a>(&'a mut self, buffers: &[&'a [u8]]) -> Body<'a> {
        self.entries.clear();
        self.offsets.clear();
        let mut room = 0_u64;
        for bytes in buffers {
            let length = bytes.len() as u64;
            let buffer = bytes.as_ptr() as u64;
            self.offsets.push(self.entries.len() as u64);
            BufferObject { kind: TYPE_PTR, buffer, length, ..Default::default() }
                .put(&mut self.entries);
            room = room.saturating_add(length.next_multiple_of(8));
        }
        Body { bytes: &self.entries, offsets: &self.offsets, buffers: Some(room) }
    }
}

#[cfg(test)]
mod tests {
    use std::fs::File;

    use super::*;
    use crate::object::{Entry, entries};

    fn table(payload: &Payload) -> Vec<Entry> {
        let table: Vec<u8> = payload.offsets.iter().flat_map(|at| at.to_ne_bytes()).collect();
        entries(&payload.bytes, &table).collect::<Result<_, _>>().unwrap()
    }

    #[test]
    fn entries_stand_on_the_drivers_boundary_and_can_be_read_back() {
        let mut payload = Payload::new();
        payload.extend_from_slice(b"odd");
        payload.put_object(Object { name: 7, flags: NodeFlags::INHERIT_RT });
        payload.push(1);
        payload.put_handle(Handle(9));
        let file = File::open("/dev/null").unwrap();
        let fd = file.as_raw_fd();
        payload.put_file(file);
        assert_eq!(payload.offsets, [4, 32, 56]);
        assert_eq!(payload.bytes[8..12], 0x800_u32.to_ne_bytes());
        assert_eq!(
            table(&payload),
            [Entry::Own(7), Entry::Remote(Handle(9)), Entry::File(fd.cast_unsigned())]
        );
        payload.clear();
        assert_eq!((payload.is_empty(), table(&payload)), (true, Vec::new()));
        assert!(payload.files.is_empty());
    }

    #[test]
    fn every_buffer_is_pointed_to_after_the_arena_has_moved() {
        let mut payload = Payload::new();
        for n in 0..100_u8 {
            payload.put_buffer(&vec![n; usize::from(n)]);
        }
        for (n, entry) in table(&payload).into_iter().enumerate() {
            let Entry::Buffer { address, length } = entry else { panic!("{entry:?}") };
            let begin = address as usize - payload.arena.as_ptr().addr();
            assert_eq!((begin % 8, length), (0, n as u64));
            assert_eq!(payload.arena[begin..][..n], vec![n as u8; n]);
        }
        assert_eq!(Body::from(&payload).buffers, Some(payload.arena.len() as u64));
    }

    #[test]
    fn gathered_buffers_are_pointed_to_where_they_are() {
        let (head, tail) = ([1_u8; 3], [2_u8; 16]);
        let mut gather = Gather::default();
        let body = gather.gather(&[&head, &[], &tail]);
        assert_eq!((body.offsets, body.buffers), (&[0, 40, 80][..], Some(24)));
        let table: Vec<u8> = body.offsets.iter().flat_map(|at| at.to_ne_bytes()).collect();
        let found: Vec<Entry> = entries(body.bytes, &table).map(Result::unwrap).collect();
        assert_eq!(found[0], Entry::Buffer { address: head.as_ptr() as u64, length: 3 });
        assert_eq!(found[2], Entry::Buffer { address: tail.as_ptr() as u64, length: 16 });
    }
}
