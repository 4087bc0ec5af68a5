//! Structures of the driver's interface, field by field.

use super::{Handle, TYPE_HANDLE};

/// A value in the driver's byte streams, which are unaligned and in the machine's byte
/// order.
pub(crate) trait Layout: Sized {
    /// Takes the value from the front of `bytes`; `None`, without taking anything, if
    /// they are too few.
    fn take(bytes: &mut &[u8]) -> Option<Self>;
    /// Appends the value.
    fn put(&self, bytes: &mut Vec<u8>);
}

macro_rules! integer_layout {
    ($($type:ty)*) => {$(
        impl Layout for $type {
            fn take(bytes: &mut &[u8]) -> Option<Self> {
                let (value, rest) = bytes.split_first_chunk()?;
                *bytes = rest;
                Some(Self::from_ne_bytes(*value))
            }

            fn put(&self, bytes: &mut Vec<u8>) {
                bytes.extend_from_slice(&self.to_ne_bytes());
            }
        }
    )*};
}

integer_layout!(i32 u32 u64);

/// A structure of the interface: its fields in order, no byte between them,
/// and the size that the header gives it.
macro_rules! structure {
    ($(#[$doc:meta])* $name:ident, $size:literal, {
        $($(#[$field_doc:meta])* $field:ident: $type:ty,)*
    }) => {
        $(#[$doc])*
        #[repr(C)]
        #[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
        pub struct $name {
            $($(#[$field_doc])* pub $field: $type,)*
        }

        #[cfg(target_pointer_width = "64")]
        const _: () = assert!(size_of::<$name>() == $size);
        const _: () = assert!(0 $(+ size_of::<$type>())* == $size);

        impl Layout for $name {
            fn take(bytes: &mut &[u8]) -> Option<Self> {
                let mut rest = *bytes;
                let value = Self { $($field: <$type>::take(&mut rest)?,)* };
                *bytes = rest;
                Some(value)
            }

            fn put(&self, bytes: &mut Vec<u8>) {
                $(self.$field.put(bytes);)*
            }
        }
    };
}

structure! {
    /// `struct binder_write_read`: one transfer in both directions.
    WriteRead, 48, {
        /// Bytes to write.
        write_size: u64,
        /// Bytes of them that the driver has taken.
        write_consumed: u64,
        /// Address of the bytes to write.
        write_buffer: u64,
        /// Size of the memory for bytes to read.
        read_size: u64,
        /// Bytes that the driver has filled.
        read_consumed: u64,
        /// Address of that memory.
        read_buffer: u64,
    }
}

structure! {
    /// `struct binder_version`.
    Version, 4, {
        /// The version that the driver answers `BINDER_VERSION` with; this crate speaks
        /// [`PROTOCOL_VERSION`](super::PROTOCOL_VERSION).
        protocol: i32,
    }
}

structure! {
    /// `struct flat_binder_object`: an object in a payload.
    FlatObject, 24, {
        /// Its type, e.g. [`TYPE_BINDER`](super::TYPE_BINDER).
        kind: u32,
        /// The object's [`NodeFlags`](super::NodeFlags).
        flags: u32,
        /// For a local object the owner's name for it, for a remote one its
        /// [`Handle`] in the first four bytes.
        binder: u64,
        /// For a local object another word chosen by the owner.
        cookie: u64,
    }
}

structure! {
    /// `struct binder_fd_object`: an open file in a payload.
    FileObject, 24, {
        /// [`TYPE_FD`](super::TYPE_FD).
        kind: u32,
        /// Not in use.
        padding: u32,
        /// The sender's file descriptor. The driver opens the file in the receiver and writes its
        /// descriptor there (`drivers/android/binder.c`).
        fd: u32,
        /// The other half of a union.
        union_padding: u32,
        /// A word that the driver passes on.
        cookie: u64,
    }
}

structure! {
    /// `struct binder_buffer_object`: bytes outside of the payload that the
    /// driver copies along with it.
    BufferObject, 40, {
        /// [`TYPE_PTR`](super::TYPE_PTR).
        kind: u32,
        /// Whether another buffer points to this one.
        flags: u32,
        /// Address of the bytes.
        buffer: u64,
        /// Number of bytes.
        length: u64,
        /// The index of the buffer that points to this one.
        parent: u64,
        /// The offset of the pointer in that buffer.
        parent_offset: u64,
    }
}

structure! {
    /// `struct binder_extended_error`: why the thread's last call failed.
    ExtendedError, 12, {
        /// The driver's number of the call.
        id: u32,
        /// The return code the caller got.
        command: u32,
        /// The reason, a negative `errno`; 0 if the driver gives none.
        param: i32,
    }
}

structure! {
    /// `struct binder_transaction_data`: a call or a reply.
    TransactionData, 64, {
        /// The object: its [`Handle`] in the first four bytes when sent, the
        /// owner's name for it when received.
        target: u64,
        /// The owner's other word, when received.
        cookie: u64,
        /// The code of the call.
        code: u32,
        /// `TF_…`.
        flags: u32,
        /// The caller's process, when received; 0 if it is in a PID namespace
        /// that this process cannot see.
        sender_pid: i32,
        /// The caller's effective user, when received.
        sender_euid: u32,
        /// Bytes of payload.
        data_size: u64,
        /// Bytes of the table of objects in the payload.
        offsets_size: u64,
        /// Address of the payload.
        buffer: u64,
        /// Address of the table.
        offsets: u64,
    }
}

impl TransactionData {
    /// The field [`target`](Self::target) for a handle.
    pub(crate) fn target_of(handle: Handle) -> u64 {
        union_of(handle)
    }
}

/// A C union of a pointer and a 32-bit handle. It holds the handle in its
/// first bytes, whatever the byte order.
fn union_of(handle: Handle) -> u64 {
    let mut union = [0; 8];
    union[..4].copy_from_slice(&handle.0.to_ne_bytes());
    u64::from_ne_bytes(union)
}

impl FlatObject {
    /// An object of another process, to send on.
    pub(crate) fn of_handle(handle: Handle) -> Self {
        Self { kind: TYPE_HANDLE, binder: union_of(handle), ..Self::default() }
    }

    /// The handle, if it is one.
    pub(crate) fn handle(&self) -> Handle {
        let [a, b, c, d, ..] = self.binder.to_ne_bytes();
        Handle(u32::from_ne_bytes([a, b, c, d]))
    }
}

impl Layout for (TransactionData, u64) {
    fn take(bytes: &mut &[u8]) -> Option<Self> {
        let mut rest = *bytes;
        let value = (TransactionData::take(&mut rest)?, u64::take(&mut rest)?);
        *bytes = rest;
        Some(value)
    }

    fn put(&self, bytes: &mut Vec<u8>) {
        self.0.put(bytes);
        self.1.put(bytes);
    }
}

structure! {
    /// `struct binder_ptr_cookie`: the owner's two words for an object.
    PtrCookie, 16, {
        /// The owner's name for the object.
        ptr: u64,
        /// The owner's other word.
        cookie: u64,
    }
}

structure! {
    /// `struct binder_pri_ptr_cookie`. No kernel sends it any more.
    PriPtrCookie, 24, {
        /// A priority.
        priority: i32,
        /// A hole in the C structure.
        padding: u32,
        /// The owner's name for the object.
        ptr: u64,
        /// The owner's other word.
        cookie: u64,
    }
}

structure! {
    /// `struct binder_frozen_state_info`: a process was frozen or thawed.
    FrozenStateInfo, 16, {
        /// The word given with the request for this notice.
        cookie: u64,
        /// 1 if frozen, 0 if thawed.
        is_frozen: u32,
        /// Not in use.
        reserved: u32,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_handle_is_the_first_half_of_its_union() {
        let union = TransactionData::target_of(Handle(0x0102_0304)).to_ne_bytes();
        assert_eq!(union[..4], 0x0102_0304_u32.to_ne_bytes());
        assert_eq!(union[4..], [0; 4]);
    }

    #[test]
    fn an_object_holds_a_handle_where_a_call_does() {
        let object = FlatObject::of_handle(Handle(0x0102_0304));
        assert_eq!(object.binder, TransactionData::target_of(Handle(0x0102_0304)));
        assert_eq!(object.handle(), Handle(0x0102_0304));
    }
}
