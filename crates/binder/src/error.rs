//! Errors of calls, of the driver and of its protocol.

use std::io;
use std::path::PathBuf;
use std::time::Duration;

use crate::protocol::{Handle, PROTOCOL_VERSION};

/// The result of everything in this crate that can fail.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// A call without an answer, a request that the driver refused, or a device that
/// is not binder.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// There is no such device: the kernel has no binder driver, or the device was
    /// not created.
    #[error("no binder device {}", device.display())]
    NoDevice {
        /// Path of the device.
        device: PathBuf,
    },
    /// There is no binderfs.
    #[error("no binderfs: {reason}")]
    NoBinderfs {
        /// The reason, without a full stop.
        reason: String,
    },
    /// The path is not a binder device.
    #[error("{} is not a binder device: {what}", device.display())]
    NotBinder {
        /// Path of the device.
        device: PathBuf,
        /// The reason, without a full stop: `it is not a character device`.
        what: String,
    },
    /// The driver speaks another protocol.
    #[error("{} speaks binder protocol {spoken}, not {PROTOCOL_VERSION}", device.display())]
    Version {
        /// Path of the device.
        device: PathBuf,
        /// The protocol it speaks.
        spoken: i32,
    },
    /// The device's owner, its mode or a security module forbids it.
    #[error("no permission for {request} on {}", device.display())]
    Permission {
        /// Path of the device.
        device: PathBuf,
        /// The request: `open`, `BINDER_SET_CONTEXT_MGR_EXT` …
        request: &'static str,
    },
    /// Another process is the device's context manager.
    #[error("{request} on {}: EBUSY, it already has a context manager", device.display())]
    ContextManagerTaken {
        /// Path of the device.
        device: PathBuf,
        /// The request that was refused.
        request: &'static str,
    },
    /// No process is the device's context manager.
    #[error("{command} to handle 0 on {}: BR_DEAD_REPLY, it has no context manager",
        device.display())]
    NoContextManager {
        /// Path of the device.
        device: PathBuf,
        /// The command that was answered.
        command: &'static str,
    },
    /// The process that serves the object is gone.
    #[error("{command} to {target} on {}: BR_DEAD_REPLY, its process {}", device.display(),
        if *delivered { "died before it replied" } else { "is gone" })]
    DeadReply {
        /// Path of the device.
        device: PathBuf,
        /// The command that was answered.
        command: &'static str,
        /// Handle of the object.
        target: Handle,
        /// Whether the call had reached the process before it died.
        delivered: bool,
    },
    /// The driver could not deliver the call or its reply, e.g. because the
    /// receiver's mapping is full (`ENOSPC`).
    #[error("{command} to {target} on {}: BR_FAILED_REPLY{}", device.display(),
        reason.as_ref().map(|reason| format!(", {reason}")).unwrap_or_default())]
    FailedReply {
        /// Path of the device.
        device: PathBuf,
        /// The command that was answered.
        command: &'static str,
        /// Handle of the object.
        target: Handle,
        /// The driver's reason, if it gives one.
        reason: Option<io::Error>,
    },
    /// The process that serves the object is frozen and takes no calls.
    #[error("{command} to {target} on {}: BR_FROZEN_REPLY, its process is frozen",
        device.display())]
    FrozenReply {
        /// Path of the device.
        device: PathBuf,
        /// The command that was answered.
        command: &'static str,
        /// Handle of the object.
        target: Handle,
    },
    /// The object refused the call with a status of its own.
    #[error("{command} to {target} on {}: refused with status {status}", device.display())]
    Status {
        /// Path of the device.
        device: PathBuf,
        /// The command that was answered.
        command: &'static str,
        /// Handle of the object.
        target: Handle,
        /// The status, on Android a negative `errno` or one of libbinder's.
        status: i32,
    },
    /// No object was registered under a number in time.
    #[error("nothing is registered under {number} on {} after {limit:?}", device.display())]
    NotRegistered {
        /// Path of the device.
        device: PathBuf,
        /// Number under which it was looked up.
        number: u64,
        /// How long the number was looked up for.
        limit: Duration,
    },
    /// The driver sent a return that is not expected here.
    #[error("{command} on {}: unexpected return {answer}", device.display())]
    Unexpected {
        /// Path of the device.
        device: PathBuf,
        /// The command under way.
        command: &'static str,
        /// Name of the return code: `BR_…`.
        answer: &'static str,
    },
    /// The driver sent bytes that violate the protocol.
    #[error("{command} on {}: {malformed}", device.display())]
    Malformed {
        /// Path of the device.
        device: PathBuf,
        /// The command under way.
        command: &'static str,
        /// The violation.
        #[source]
        malformed: Malformed,
    },
    /// The kernel refused a request.
    #[error("{request} on {}: {source}", device.display())]
    Request {
        /// Path of the device.
        device: PathBuf,
        /// The request: `open`, `mmap`, `BINDER_WRITE_READ` …
        request: &'static str,
        /// The kernel's answer.
        source: io::Error,
    },
    /// An earlier call ended in the middle, so its reply may still come.
    #[error("an earlier call on {} was interrupted: open the device again", device.display())]
    Abandoned {
        /// Path of the device.
        device: PathBuf,
    },
}

/// How bytes from the driver violate the protocol.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Malformed {
    /// No return code has this number.
    #[error("unknown return code {code:#x}")]
    Unknown {
        /// The number, as received.
        code: u32,
    },
    /// The bytes end within a return code.
    #[error("{left} bytes are too few for a return code")]
    Code {
        /// Number of bytes that are left.
        left: usize,
    },
    /// The bytes end within the data of a return code.
    #[error("{name} ends after {left} bytes")]
    Truncated {
        /// Name of the return code: `BR_…`.
        name: &'static str,
        /// Number of bytes that are left, with the code.
        left: usize,
    },
    /// A payload does not lie in the mapping.
    #[error("{size} bytes at {address:#x} are not in the mapping")]
    OutsideMapping {
        /// The address of the payload.
        address: u64,
        /// Length of the payload in bytes.
        size: u64,
    },
    /// The table of a payload's objects ends within an entry.
    #[error("the table of objects ends with {left} bytes of an entry")]
    Table {
        /// Number of bytes that are left.
        left: usize,
    },
    /// An object does not lie completely in its payload.
    #[error("the object at {offset} is not within a payload of {size} bytes")]
    Object {
        /// Offset of the object in the payload, in bytes.
        offset: u64,
        /// Length of the payload in bytes.
        size: usize,
    },
    /// A number that cannot be a file descriptor.
    #[error("{fd} is not a file descriptor")]
    File {
        /// The received number, above `i32::MAX`.
        fd: u32,
    },
    /// An item is not an object of another process.
    #[error("item {position} is not an object of another process")]
    NoReference {
        /// Its position among the payload's items.
        position: usize,
    },
    /// A status that is not four bytes long.
    #[error("a status of {size} bytes instead of 4")]
    StatusSize {
        /// Length of the status in bytes.
        size: usize,
    },
    /// The driver reports that it moved more bytes than possible, or none.
    #[error(
        "the driver reports {consumed} of {written} bytes taken and {returned} of {room} bytes returned"
    )]
    Transfer {
        /// Bytes that it reports to have taken.
        consumed: usize,
        /// Bytes that it was given.
        written: usize,
        /// Bytes that it reports to have sent.
        returned: usize,
        /// Bytes that it could send.
        room: usize,
    },
}
