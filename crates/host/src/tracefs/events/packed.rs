//! One event in 24 bytes.

use super::super::event::Context;
use crate::clock::Timestamp;
use crate::sched::ThreadId;

/// An event, whose content is in `small` and `words` by its tag, or in a side
/// table.
#[derive(Debug, Clone, Copy)]
pub(super) struct Packed {
    pub(super) at: Timestamp,
    pub(super) current: ThreadId,
    pub(super) tag: Tag,
    pub(super) context: Context,
    pub(super) small: u16,
    pub(super) words: [u32; 2],
}

/// The kind of an event. *Task* and *name* are numbers in side tables.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Tag {
    /// Whether the first is runnable; two tasks.
    Switch,
    /// A task and a CPU.
    Waking,
    /// A task and a CPU.
    Wakeup,
    /// Whether it reschedules; a CPU.
    IpiSent,
    /// The first CPU; a task and the other CPU.
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
    /// The number of the call; the place of its arguments.
    Call,
    /// The place of the whole kind.
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

/// The number that [`split`] made two words of.
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
