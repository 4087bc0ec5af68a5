//! Errors of this crate, the kernel and the other process.

use std::io;
use std::time::Duration;

use crate::version::VERSION;

/// The result of fallible functions of this crate.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// A call without an answer, a peer that breaks the protocol, or a request that
/// the kernel refused.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The other process, or its serving thread, has ended.
    #[error("the other side of the channel has died")]
    PeerDied,
    /// The other side has closed the connection.
    #[error("the other side has closed the channel")]
    Closed,
    /// The reply did not come in time. The lane stays usable: the next call
    /// first waits for the late reply and drops it.
    #[error("no reply within {waited:?}")]
    TimedOut {
        /// The time limit.
        waited: Duration,
    },
    /// The other side broke the protocol. The lane cannot be used any more.
    #[error("the other side broke the protocol: {what}")]
    Broken {
        /// Description of the invalid state.
        what: &'static str,
    },
    /// The server waits for this thread, directly or through other servers.
    #[error("the server waits for this thread: the call would never end")]
    Deadlock,
    /// The handler refused the call.
    #[error("refused with status {status}")]
    Refused {
        /// The handler's own status.
        status: i32,
    },
    /// A request or reply does not fit.
    #[error("{length} bytes do not fit into a buffer of {capacity} bytes")]
    TooLong {
        /// Its length in bytes.
        length: usize,
        /// Size of the buffer in bytes.
        capacity: usize,
    },
    /// The server has no free lane.
    #[error("all {lanes} lanes of the server are taken")]
    Full {
        /// Number of its lanes.
        lanes: usize,
    },
    /// The other side speaks another version of the protocol.
    #[error("the other side speaks version {theirs} of the protocol, not {VERSION}")]
    Version {
        /// Version of the other side.
        theirs: u32,
    },
    /// The processes have different numbers for the same thread, so lock words,
    /// which hold thread numbers, have no meaning.
    #[error("the other process is in another PID namespace")]
    PidNamespace,
    /// The data from the socket does not set up a channel.
    #[error("no channel was offered over the socket: {what}")]
    NotAChannel {
        /// Description of the received message.
        what: &'static str,
    },
    /// The value was created before this process was forked, or belongs to another
    /// thread.
    #[error("the channel belongs to another process or thread")]
    WrongOwner,
    /// An impossible setting.
    #[error("{what} is {value}; it must be {least} to {most}")]
    Setting {
        /// Name of the setting.
        what: &'static str,
        /// The value, outside `least` to `most`.
        value: usize,
        /// The smallest possible value.
        least: usize,
        /// The largest possible value.
        most: usize,
    },
    /// The kernel refused a request.
    #[error("{request}: {source}")]
    Request {
        /// The system call, and its purpose if that is not obvious.
        request: &'static str,
        /// The kernel's answer.
        source: io::Error,
    },
}

impl Error {
    /// Makes a [`Request`](Self::Request) in `map_err`.
    pub(crate) fn request<E: Into<io::Error>>(request: &'static str) -> impl FnOnce(E) -> Self {
        move |source| Self::Request { request, source: source.into() }
    }
}
