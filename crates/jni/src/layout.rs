//! The layout of a task's shared memory. `TaskMemory` in Java has the same
//! numbers; [`VERSION`] changes with them.
//!
//! One page of control words, each group on its own cache line, then the
//! ring to Java, then the ring from Java.

use unjank_host::memory::SharedRegion;

use crate::error::{Error, Result};

/// The first word: `UJTASK` and the version of this layout.
pub const VERSION: u64 = u64::from_le_bytes(*b"UJTASK\x00\x02");

/// Bytes of the control page.
pub const CONTROL: usize = 4_096;
/// The word that holds [`VERSION`].
pub const MAGIC: usize = 0;
/// Slots of the ring to Java.
pub const SLOTS_OUT: usize = 8;
/// Slots of the ring from Java.
pub const SLOTS_IN: usize = 16;
/// Longest message, in bytes.
pub const MESSAGE: usize = 24;
/// Not 0 when Java asks the task to end.
pub const STOP: usize = 128;
/// The moment of the first wake-up on `CLOCK_MONOTONIC`; 0 until Java starts the task.
pub const FIRST: usize = 256;
/// One of [`State`].
pub const STATE: usize = 384;
/// The thread number of the task.
pub const THREAD: usize = 392;
/// Wake-ups so far.
pub const WAKEUPS: usize = 512;
/// Missed periods.
pub const MISSED: usize = 520;
/// Messages that were dropped because the ring to Java was full.
pub const LOST: usize = 528;
/// Length of the error text in bytes.
pub const ERROR_LENGTH: usize = 1_016;
/// Why the task failed, in UTF-8.
pub const ERROR_TEXT: usize = 1_024;
/// The longest error text, in bytes.
pub const ERROR_MOST: usize = CONTROL - ERROR_TEXT;

/// In a ring: the number of messages written so far.
pub const HEAD: usize = 0;
/// In a ring: the number of messages read so far, on another cache line.
pub const TAIL: usize = 128;
/// In a ring: its slots, each a word with the length and then the message.
pub const SLOTS: usize = 256;

/// The state of a task.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u64)]
pub enum State {
    /// It is being prepared.
    Starting = 0,
    /// Its thread has its priority and waits for the start.
    Ready = 1,
    /// It wakes periodically.
    Running = 2,
    /// It has ended.
    Ended = 3,
    /// It could not be prepared.
    Failed = 4,
    /// It could not be prepared, because this user lacks a permission.
    Refused = 5,
}

/// The sizes of a task's two rings.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Sizes {
    /// Slots of the ring to Java, a power of two.
    pub slots_out: usize,
    /// Slots of the ring from Java, a power of two.
    pub slots_in: usize,
    /// Longest message, in bytes.
    pub message: usize,
}

/// The most shared memory of a task, in bytes.
const MOST: usize = 1 << 30;

impl Sizes {
    /// Checks that the sizes are possible.
    ///
    /// # Errors
    /// `Invalid` with the first problem.
    pub fn check(self) -> Result<Self> {
        let slots = |slots: usize| slots.is_power_of_two() && slots <= 1 << 24;
        if !slots(self.slots_out) || !slots(self.slots_in) {
            return Err(Error::Invalid(format!(
                "the number of slots of a ring is a power of two up to 16777216, not {} and {}",
                self.slots_out, self.slots_in
            )));
        }
        if !(1..=1 << 20).contains(&self.message) {
            return Err(Error::Invalid(format!(
                "a message has 1 to 1048576 bytes, not {}",
                self.message
            )));
        }
        if self.total() > MOST {
            return Err(Error::Invalid(format!(
                "{} bytes of shared memory are more than 1 GiB",
                self.total()
            )));
        }
        Ok(self)
    }

    /// Reads and checks the sizes in shared memory.
    ///
    /// # Errors
    /// `Invalid` for memory that is not a task's, or of another version.
    pub fn of(region: &SharedRegion) -> Result<Self> {
        use std::sync::atomic::Ordering::Relaxed;
        let foreign = || Error::Invalid("this is not the memory of a task".to_owned());
        if region.len() < CONTROL || region.word(MAGIC).load(Relaxed) != VERSION {
            return Err(foreign());
        }
        let size = |offset| usize::try_from(region.word(offset).load(Relaxed)).unwrap_or(0);
        let sizes =
            Self { slots_out: size(SLOTS_OUT), slots_in: size(SLOTS_IN), message: size(MESSAGE) }
                .check()?;
        if sizes.total() == region.len() { Ok(sizes) } else { Err(foreign()) }
    }

    /// Bytes of one slot: length and message, padded to a multiple of 8.
    pub fn slot(self) -> usize {
        8 + self.message.next_multiple_of(8)
    }

    /// Bytes of the control page and both rings. Rings begin at whole pages.
    pub fn total(self) -> usize {
        self.ring_in() + self.ring(self.slots_in)
    }

    /// Offset of the ring from Java.
    pub fn ring_in(self) -> usize {
        CONTROL + self.ring(self.slots_out)
    }

    fn ring(self, slots: usize) -> usize {
        (SLOTS + slots * self.slot()).next_multiple_of(4_096)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn impossible_sizes_are_refused() {
        let good = Sizes { slots_out: 8, slots_in: 1, message: 32 };
        assert_eq!(good.check().unwrap().total(), 4_096 * 3);
        for bad in [
            Sizes { slots_out: 6, ..good },
            Sizes { slots_in: 0, ..good },
            Sizes { message: 0, ..good },
            Sizes { slots_out: 1 << 24, message: 1 << 20, ..good },
        ] {
            assert!(bad.check().is_err(), "{bad:?}");
        }
    }

    #[test]
    fn memory_that_is_not_a_task_is_refused() {
        let (region, _) = SharedRegion::create("test", 8_192).unwrap();
        assert!(Sizes::of(&region).is_err());
    }
}
