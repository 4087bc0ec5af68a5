//! Numbers and structures of the driver's interface, from
//! `include/uapi/linux/android/binder.h` (protocol 8, which every 64-bit kernel has).

use std::fmt;

mod codes;
mod flags;
mod structures;

pub use codes::*;
pub use flags::{NodeFlags, Policy};
pub(crate) use structures::Layout;
pub use structures::{
    BufferObject, ExtendedError, FileObject, FlatObject, FrozenStateInfo, PriPtrCookie, PtrCookie,
    TransactionData, Version, WriteRead,
};

/// The protocol version of this crate.
pub const PROTOCOL_VERSION: i32 = 8;

/// The largest code for calls of a program's own; larger codes belong to the protocol
/// ([`PING`]).
pub const LAST_CALL: u32 = 0x00ff_ffff;

/// The call `_PNG` that every binder object answers with an empty reply.
pub const PING: u32 = u32::from_be_bytes(*b"_PNG");

/// The type `sb*` of an object that lives in the sending process.
pub const TYPE_BINDER: u32 = u32::from_be_bytes(*b"sb*\x85");
/// The type `sh*` of an object that lives in another process.
pub const TYPE_HANDLE: u32 = u32::from_be_bytes(*b"sh*\x85");
/// The type `fd*` of an open file.
pub const TYPE_FD: u32 = u32::from_be_bytes(*b"fd*\x85");
/// The type `pt*` of a buffer that is copied along with the payload.
pub const TYPE_PTR: u32 = u32::from_be_bytes(*b"pt*\x85");

/// The call is one-way: the caller does not wait, and there is no reply.
pub const TF_ONE_WAY: u32 = 0x01;
/// The payload is one 32-bit status, and nothing else.
pub const TF_STATUS_CODE: u32 = 0x08;
/// The reply may contain open files.
pub const TF_ACCEPT_FDS: u32 = 0x10;

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
