//! One event in 24 bytes.

use super::super::event::Context;
use crate::clock::Timestamp;
use crate::sched::ThreadId;

/// An event. Its tag says whether its content is in `small` and `words`, or in a
/// side table.
#[derive(Debug, Clone, Copy)]
pub(super) struct Packed {
    pub(super) at: Timestamp,
    pub(super) current: ThreadId,
    pub(super) tag: Tag,
    pub(super) context: Context,
    pub(super) small: u16,
    pub(super) words: [u32; 2],
}

/// The kind of an event. Each comment lists the content of `words`, and before it,
/// with a semicolon, that of `small` if it is used. *Task* and *name* are numbers in
/// side tables.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Tag {
    /// The state of the previous task; the previous and the next task.
    Switch,
    /// A task and a CPU.
    Waking,
    /// A task and a CPU.
    Wakeup,
    /// Whether it is a reschedule interrupt; a CPU.
    IpiSent,
    /// The former CPU; a task and the new CPU.
    Migrate,
    /// A number and a name.
    IrqEntry,
    /// A number.
    IrqExit,
    /// A name.
    VectorEntry,
    /// A name.
    VectorExit,
    /// A number.
    SoftirqEntry,
    /// A number.
    SoftirqExit,
    /// An address.
    TimerArmed,
    /// An address.
    TimerExpires,
    TimerEnds,
    /// An address.
    PageFault,
    ReclaimBegins,
    ReclaimEnds,
    TcpRetransmits,
    /// Flags; an address.
    LockContended,
    /// An address.
    LockAcquired,
    /// Whether it has a state; the state.
    Idle,
    /// An address.
    PacketQueued,
    /// An address.
    PacketTaken,
    /// The role; a number and a process.
    BinderSent,
    /// A number.
    BinderReceived,
    /// The number of the call; the index of its arguments in a side table.
    Call,
    /// The index of the whole `EventKind` in a side table.
    Other,
}

impl Packed {
    pub(super) fn is_switch(&self) -> bool {
        self.tag == Tag::Switch
    }
}

/// A number of 64 bits as two words.
pub(super) fn split(number: u64) -> [u32; 2] {
    [number as u32, (number >> 32) as u32]
}

/// The inverse of [`split`].
pub(super) fn joined([low, high]: [u32; 2]) -> u64 {
    u64::from(low) | u64::from(high) << 32
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_event_takes_24_bytes() {
        assert_eq!(size_of::<Packed>(), 24);
        assert_eq!(joined(split(0x0123_4567_89ab_cdef)), 0x0123_4567_89ab_cdef);
    }
}
