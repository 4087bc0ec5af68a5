//! What the [engine](super::engine) tells the [server](super::server) to do, and the other way
//! round.

use super::map::{Frame, Slot, Sum};

/// A page of a request, named by whoever serves the request.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Part {
    /// The tag of the request in its queue.
    pub tag: u16,
    /// The number of the page in the request's buffer.
    pub page: u16,
}

/// A transfer between a page of a request's buffer and a backing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Step {
    /// The page.
    pub part: Part,
    /// Its slot.
    pub slot: Slot,
    /// What to transfer.
    pub transfer: Transfer,
}

/// The kinds of transfers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Transfer {
    /// Read the frame.
    ReadFast(Frame),
    /// Read the slot's place on the slow backing; then the page may be promoted to this frame.
    ReadSlow(Option<Frame>),
    /// Write the page that was just read to this frame.
    Promote(Frame),
    /// Write the frame.
    WriteFast(Frame),
    /// Write the slot's place on the slow backing. Its old data is in this frame.
    WriteSlow(Option<Frame>),
}

/// The end of a transfer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum End {
    /// All bytes were transferred; the checksum of the buffer's page.
    Done(Sum),
    /// The backing failed.
    Failed,
}

/// What to do next for a page.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Next {
    /// Perform this.
    Step(Step),
    /// The page is served.
    Reply(Reply),
}

/// The reply for a page.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reply {
    /// It was read or written.
    Done,
    /// An I/O error.
    Failed,
}

/// A frame to be copied to its slot's place on the slow backing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Copy {
    /// From here.
    pub frame: Frame,
    /// To there.
    pub slot: Slot,
}
