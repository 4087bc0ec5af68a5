//! What can go wrong between this crate, the kernel and the other process.

use std::io;
use std::time::Duration;

use crate::version::VERSION;

/// The result of everything in this crate that can fail.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// A call that was not answered, a peer that is not what it says, or a
/// request that the kernel refused.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The other process, or the thread that served, has ended.
    #[error("the other side of the channel has died")]
    PeerDied,
    /// The other side has ended the connection in good order.
    #[error("the other side has closed the channel")]
    Closed,
    /// The reply did not come in time. The lane stays usable: the next call
    /// waits for the late reply, and drops it.
    #[error("no reply within {waited:?}")]
    TimedOut {
        /// How long was waited for it.
        waited: Duration,
    },
    /// The other side broke the protocol. The lane is of no use any more.
    #[error("the other side broke the protocol: {what}")]
    Broken {
        /// How it shows.
        what: &'static str,
    },
    /// The server waits, maybe through other servers, for this thread.
    #[error("the server waits for this thread: the call would never end")]
    Deadlock,
    /// The handler refused the call.
    #[error("refused with status {status}")]
    Refused {
        /// The handler's status, with a meaning of its own.
        status: i32,
    },
    /// A request or reply is longer than there is room for.
    #[error("{length} bytes where there is room for {capacity}")]
    TooLong {
        /// How long it is.
        length: usize,
        /// How long it may be.
        capacity: usize,
    },
    /// The server has no free lane.
    #[error("all {lanes} lanes of the server are taken")]
    Full {
        /// How many lanes it has.
        lanes: usize,
    },
    /// The other side speaks another version of the protocol.
    #[error("the other side speaks version {theirs} of the protocol, not {VERSION}")]
    Version {
        /// The version it speaks.
        theirs: u32,
    },
    /// The two processes see each other under other numbers than their own.
    /// Lock words hold thread numbers, which mean nothing then.
    #[error("the other process is in another PID namespace")]
    PidNamespace,
    /// What came over the socket is not the set-up of a channel.
    #[error("no channel was offered over the socket: {what}")]
    NotAChannel {
        /// How it shows.
        what: &'static str,
    },
    /// The value was made by another process, which this one is a fork of, or
    /// it belongs to another thread.
    #[error("the channel belongs to another process or thread")]
    WrongOwner,
    /// A setting that cannot work.
    #[error("{what} is {value}, outside of {least} to {most}")]
    Setting {
        /// Which one.
        what: &'static str,
        /// What it is.
        value: usize,
        /// The least that works.
        least: usize,
        /// The most that works.
        most: usize,
    },
    /// The kernel refused a request.
    #[error("{request}: {source}")]
    Request {
        /// The system call, and for what if that is not plain.
        request: &'static str,
        /// The kernel's answer.
        source: io::Error,
    },
}

impl Error {
    /// For `map_err`.
    pub(crate) fn request<E: Into<io::Error>>(request: &'static str) -> impl FnOnce(E) -> Self {
        move |source| Self::Request { request, source: source.into() }
    }
}
