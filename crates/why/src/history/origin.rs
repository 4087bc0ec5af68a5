//! The origin of an event: a thread, or an interrupt with its cause.

use unjank_host::Timestamp;
use unjank_host::sched::ThreadId;

/// The origin of an event.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Origin {
    /// The thread that ran, or that sent the delivered packet.
    Thread(ThreadId),
    /// An interrupt or a softirq, by its cause.
    Interrupt(Cause),
}

/// The cause of an interrupt.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Cause {
    /// A timer expired; who armed it, if the trace has that.
    Timer(Option<Armed>),
    /// A block device finished a request.
    Storage(RequestId),
    /// A block device finished a request whose issue is not in the trace.
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

/// The number of a device's interrupt in a history, for `History::interrupt_name`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct InterruptId(pub u32);

/// The number of a finished request in a history, for `History::request`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct RequestId(pub u32);
