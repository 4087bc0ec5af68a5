//! Block devices that this process serves: ublk of Linux 6.4 or newer
//! (`Documentation/block/ublk.rst`).
//!
//! A [`Control`] adds a [`Device`], whose requests arrive at [`Queue`]s: one thread each, with an
//! `io_uring` that also carries the server's own reads and writes. If the server dies, the device
//! stays and holds its requests until another server takes it over ([`Control::recover`]).
//!
//! Nothing in the way of a request allocates memory.

mod abi;
mod control;
mod flusher;
mod queue;

pub use control::{Control, Device, Found, Shape, State, path_of};
pub use flusher::{become_io_flusher, is_io_flusher};
pub use queue::{Memory, Operation, PreparedQueue, Queue, Request, Serve, Transfer};

/// The unit of requests, in bytes.
pub const SECTOR: u64 = 512;
