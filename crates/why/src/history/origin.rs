//! Who caused an event: a thread, or an interrupt and what it was about.

use unjank_host::Timestamp;
use unjank_host::sched::ThreadId;

/// Who caused an event.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Origin {
    /// A thread that ran.
    Thread(ThreadId),
    /// An interrupt.
    Interrupt(Cause),
}

/// What an interrupt was about.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Cause {
    /// A timer expired; who armed it, if the trace has that.
    Timer(Option<Armed>),
    /// A block device finished a request.
    Storage(RequestId),
    /// A block device finished a request whose begin is not in the trace.
    StorageOfOld,
    /// A packet arrived from outside.
    Network,
    /// Another device, by its interrupt.
    Device(InterruptId),
    /// The trace does not have it.
    Unknown,
}

/// The last time that a timer was armed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Armed {
    /// The thread that armed it.
    pub by: ThreadId,
    /// When it did.
    pub at: Timestamp,
}

/// The number of a device's interrupt in a history, which knows its name.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct InterruptId(pub u32);

/// The number of a request of a history.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct RequestId(pub u32);
