//! Numbers and structures of the driver's interface, as
//! `include/uapi/linux/android/binder.h` lays them down (protocol 8, the one
//! of every 64-bit kernel).

use std::fmt;

use rustix::ioctl::{Direction, Opcode, opcode};

/// The protocol version this crate speaks.
pub const PROTOCOL_VERSION: i32 = 8;

/// The largest code a caller may give its own calls; the codes above are the
/// protocol's ([`PING`]).
pub const LAST_CALL: u32 = 0x00ff_ffff;

/// The call `_PNG` that every binder object answers with an empty reply.
pub const PING: u32 = u32::from_be_bytes(*b"_PNG");

/// The type `sb*` of an object that lives in the sending process.
pub const TYPE_BINDER: u32 = u32::from_be_bytes(*b"sb*\x85");

/// The call is one-way: the caller does not wait, and there is no reply.
pub const TF_ONE_WAY: u32 = 0x01;
/// The payload is one 32-bit status, and nothing else.
pub const TF_STATUS_CODE: u32 = 0x08;

/// The number by which a process knows an object of another process.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Handle(pub u32);

impl Handle {
    /// The object that every process knows: the device's context manager.
    pub const CONTEXT_MANAGER: Self = Self(0);
}

impl fmt::Display for Handle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "handle {}", self.0)
    }
}

/// What an object asks the driver to do for calls to it.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct NodeFlags(pub u32);

impl NodeFlags {
    /// Calls are served at the caller's nice value, and at nice 0 if the
    /// caller's is higher.
    pub const NONE: Self = Self(0);
    /// Calls are served with the caller's real-time policy and priority.
    /// Known to Android's kernels only; a mainline kernel ignores it.
    pub const INHERIT_RT: Self = Self(0x800);

    /// With those of `other` as well.
    #[must_use]
    pub const fn and(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }
}

/// A value with a fixed place in the driver's byte streams, where nothing is
/// aligned and everything is in the machine's byte order.
pub(crate) trait Layout: Sized {
    /// Takes the value from the front of `bytes`; `None`, and nothing taken,
    /// if they are too few.
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
        /// Room for bytes to read.
        read_size: u64,
        /// Bytes of it that the driver has filled.
        read_consumed: u64,
        /// Address of the room.
        read_buffer: u64,
    }
}

structure! {
    /// `struct binder_version`.
    Version, 4, {
        /// The protocol the driver speaks.
        protocol: i32,
    }
}

structure! {
    /// `struct flat_binder_object`: an object as it stands in a payload.
    FlatObject, 24, {
        /// What kind of object, e.g. [`TYPE_BINDER`].
        kind: u32,
        /// The object's [`NodeFlags`].
        flags: u32,
        /// For a local object the owner's name for it.
        binder: u64,
        /// For a local object another word of the owner's choice.
        cookie: u64,
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
        /// Which call.
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
    /// The field [`target`](Self::target) for a handle. The C union holds the
    /// 32-bit handle in its first bytes, whatever the byte order.
    pub(crate) fn target_of(handle: Handle) -> u64 {
        let mut union = [0; 8];
        union[..4].copy_from_slice(&handle.0.to_ne_bytes());
        u64::from_ne_bytes(union)
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

/// The requests that go through `ioctl(2)`.
pub(crate) mod request {
    use super::{ExtendedError, FlatObject, Opcode, Version, WriteRead, opcode};

    pub(crate) const WRITE_READ: Opcode = opcode::read_write::<WriteRead>(b'b', 1);
    pub(crate) const SET_MAX_THREADS: Opcode = opcode::write::<u32>(b'b', 5);
    pub(crate) const SET_CONTEXT_MGR: Opcode = opcode::write::<i32>(b'b', 7);
    pub(crate) const VERSION: Opcode = opcode::read_write::<Version>(b'b', 9);
    pub(crate) const SET_CONTEXT_MGR_EXT: Opcode = opcode::write::<FlatObject>(b'b', 13);
    pub(crate) const GET_EXTENDED_ERROR: Opcode = opcode::read_write::<ExtendedError>(b'b', 17);
}

macro_rules! codes {
    ($($(#[$doc:meta])* $name:ident = $code:expr;)*) => {
        $($(#[$doc])* pub const $name: u32 = $code as u32;)*
    };
}

codes! {
    /// Calls an object: [`TransactionData`].
    BC_TRANSACTION = opcode::write::<TransactionData>(b'c', 0);
    /// Replies to the call this thread is serving: [`TransactionData`].
    BC_REPLY = opcode::write::<TransactionData>(b'c', 1);
    /// Gives a received payload back to the driver: its address.
    BC_FREE_BUFFER = opcode::write::<u64>(b'c', 3);
    /// Answers [`BR_INCREFS`]: [`PtrCookie`].
    BC_INCREFS_DONE = opcode::write::<PtrCookie>(b'c', 8);
    /// Answers [`BR_ACQUIRE`]: [`PtrCookie`].
    BC_ACQUIRE_DONE = opcode::write::<PtrCookie>(b'c', 9);
    /// This thread begins to serve calls.
    BC_ENTER_LOOPER = opcode::none(b'c', 12);
    /// This thread serves calls no longer.
    BC_EXIT_LOOPER = opcode::none(b'c', 13);
    /// Answers [`BR_DEAD_BINDER`]: the cookie.
    BC_DEAD_BINDER_DONE = opcode::write::<u64>(b'c', 16);
    /// Answers [`BR_FROZEN_BINDER`]: the cookie.
    BC_FREEZE_NOTIFICATION_DONE = opcode::write::<u64>(b'c', 21);
}

codes! {
    /// The driver failed: an `errno`.
    BR_ERROR = opcode::read::<i32>(b'r', 0);
    /// No error.
    BR_OK = opcode::none(b'r', 1);
    /// A call to serve: [`TransactionData`].
    BR_TRANSACTION = opcode::read::<TransactionData>(b'r', 2);
    /// A call to serve, with the address of the caller's security context.
    BR_TRANSACTION_SEC_CTX = opcode::from_components(Direction::Read, b'r', 2, 72);
    /// The reply to this thread's call: [`TransactionData`].
    BR_REPLY = opcode::read::<TransactionData>(b'r', 3);
    /// No kernel sends it any more.
    BR_ACQUIRE_RESULT = opcode::read::<i32>(b'r', 4);
    /// The object of this thread's call is gone.
    BR_DEAD_REPLY = opcode::none(b'r', 5);
    /// This thread's call or reply is on its way.
    BR_TRANSACTION_COMPLETE = opcode::none(b'r', 6);
    /// A weak reference to a local object was taken: [`PtrCookie`].
    BR_INCREFS = opcode::read::<PtrCookie>(b'r', 7);
    /// A strong reference to a local object was taken: [`PtrCookie`].
    BR_ACQUIRE = opcode::read::<PtrCookie>(b'r', 8);
    /// The last strong reference to a local object is gone: [`PtrCookie`].
    BR_RELEASE = opcode::read::<PtrCookie>(b'r', 9);
    /// The last weak reference to a local object is gone: [`PtrCookie`].
    BR_DECREFS = opcode::read::<PtrCookie>(b'r', 10);
    /// No kernel sends it any more: [`PriPtrCookie`].
    BR_ATTEMPT_ACQUIRE = opcode::read::<PriPtrCookie>(b'r', 11);
    /// Nothing.
    BR_NOOP = opcode::none(b'r', 12);
    /// All threads that serve are busy: start another.
    BR_SPAWN_LOOPER = opcode::none(b'r', 13);
    /// No kernel sends it any more.
    BR_FINISHED = opcode::none(b'r', 14);
    /// A remote object whose death was asked for is dead: the cookie.
    BR_DEAD_BINDER = opcode::read::<u64>(b'r', 15);
    /// Notice of a death is no longer asked for: the cookie.
    BR_CLEAR_DEATH_NOTIFICATION_DONE = opcode::read::<u64>(b'r', 16);
    /// This thread's call failed.
    BR_FAILED_REPLY = opcode::none(b'r', 17);
    /// The process of the object is frozen and takes no calls.
    BR_FROZEN_REPLY = opcode::none(b'r', 18);
    /// This process has sent suspiciously many one-way calls.
    BR_ONEWAY_SPAM_SUSPECT = opcode::none(b'r', 19);
    /// The process of the object is frozen; the one-way call waits.
    BR_TRANSACTION_PENDING_FROZEN = opcode::none(b'r', 20);
    /// A process was frozen or thawed: [`FrozenStateInfo`].
    BR_FROZEN_BINDER = opcode::read::<FrozenStateInfo>(b'r', 21);
    /// Notice of freezing is no longer asked for: the cookie.
    BR_CLEAR_FREEZE_NOTIFICATION_DONE = opcode::read::<u64>(b'r', 22);
}

#[cfg(test)]
mod tests {
    use super::*;

    /// As a C compiler computes them from the header on x86-64; return codes
    /// are covered by their size and number in `reply`.
    #[test]
    #[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
    fn numbers_are_those_of_the_header() {
        assert_eq!(
            [
                request::WRITE_READ,
                request::SET_MAX_THREADS,
                request::SET_CONTEXT_MGR,
                request::VERSION,
                request::SET_CONTEXT_MGR_EXT,
                request::GET_EXTENDED_ERROR,
            ],
            [0xC030_6201, 0x4004_6205, 0x4004_6207, 0xC004_6209, 0x4018_620D, 0xC00C_6211]
        );
        assert_eq!(
            [BC_TRANSACTION, BC_REPLY, BC_FREE_BUFFER, BC_INCREFS_DONE, BC_ACQUIRE_DONE],
            [0x4040_6300, 0x4040_6301, 0x4008_6303, 0x4010_6308, 0x4010_6309]
        );
        assert_eq!(
            [BC_ENTER_LOOPER, BC_EXIT_LOOPER, BC_DEAD_BINDER_DONE],
            [0x630C, 0x630D, 0x4008_6310]
        );
        assert_eq!([BR_TRANSACTION, BR_TRANSACTION_SEC_CTX], [0x8040_7202, 0x8048_7202]);
        assert_eq!([BR_ATTEMPT_ACQUIRE, BR_DEAD_BINDER], [0x8018_720B, 0x8008_720F]);
        assert_eq!([BR_DEAD_REPLY, BR_FAILED_REPLY], [0x7205, 0x7211]);
        assert_eq!([TYPE_BINDER, PING], [0x7362_2A85, 0x5F50_4E47]);
    }

    #[test]
    fn a_handle_is_the_first_half_of_its_union() {
        let union = TransactionData::target_of(Handle(0x0102_0304)).to_ne_bytes();
        assert_eq!(union[..4], 0x0102_0304_u32.to_ne_bytes());
        assert_eq!(union[4..], [0; 4]);
    }
}
