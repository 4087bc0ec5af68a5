//! What freezes a recording, and which delays it is about.

use serde::{Deserialize, Serialize};
use unjank_host::sched::ThreadId;
use unjank_units::Nanos;
use unjank_why::late::{Delay, HeldUp, NOTICEABLE};

use crate::pressure::Resource;

/// What freezes a recording.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Trigger {
    /// The user, or another program: `unjank mark`, SIGUSR1.
    Mark,
    /// Tasks waited for a resource longer than its limit.
    Pressure(Resource),
    /// A thread with a rule waited for a CPU longer than its limit.
    Late {
        /// The thread.
        thread: ThreadId,
        /// The rule's limit.
        limit: Nanos,
    },
}

/// The kind of a trigger, in records.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum TriggerKind {
    /// [`Trigger::Mark`].
    Mark,
    /// [`Trigger::Pressure`] of a CPU.
    Cpu,
    /// [`Trigger::Pressure`] of memory.
    Memory,
    /// [`Trigger::Pressure`] of I/O.
    Io,
    /// [`Trigger::Late`].
    Late,
}

impl TriggerKind {
    /// The name in records.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Mark => "mark",
            Self::Cpu => "cpu pressure",
            Self::Memory => "memory pressure",
            Self::Io => "io pressure",
            Self::Late => "late thread",
        }
    }
}

impl Trigger {
    /// Its kind.
    pub fn kind(&self) -> TriggerKind {
        match self {
            Self::Mark => TriggerKind::Mark,
            Self::Pressure(Resource::Cpu) => TriggerKind::Cpu,
            Self::Pressure(Resource::Memory) => TriggerKind::Memory,
            Self::Pressure(Resource::Io) => TriggerKind::Io,
            Self::Late { .. } => TriggerKind::Late,
        }
    }

    /// How long before the trigger a delay may have ended. A user takes up to two seconds to press a
    /// key; pressure is counted in windows of a second, and lateness once a second.
    pub fn reaches_back(&self) -> Nanos {
        match self {
            Self::Mark => Nanos::from_millis(3_000),
            Self::Pressure(_) | Self::Late { .. } => Nanos::from_millis(2_000),
        }
    }

    /// The delays that the incident may be about: of a thread with a rule, its own; else the longest
    /// ones that fit the trigger. `delays` begin with the longest.
    pub fn fitting(&self, delays: &[Delay]) -> Vec<Delay> {
        let fits = |delay: &&Delay| match self {
            Self::Mark => delay.length() >= NOTICEABLE,
            Self::Pressure(Resource::Cpu) => {
                delay.by == HeldUp::RunQueue && delay.length() >= NOTICEABLE
            }
            Self::Pressure(Resource::Memory | Resource::Io) => {
                delay.by == HeldUp::Blocked && delay.length() >= NOTICEABLE
            }
            Self::Late { thread, limit } => {
                let is_one = delay.by == HeldUp::RunQueue && delay.waits == 1;
                delay.thread == *thread && is_one && delay.length() >= *limit
            }
        };
        delays.iter().filter(fits).take(CANDIDATES).copied().collect()
    }
}

/// The most delays that are tried until one has a cause that the recording shows.
const CANDIDATES: usize = 6;

#[cfg(test)]
mod tests {
    use unjank_host::Timestamp;

    use super::*;

    fn delay(thread: u32, millis: u64, by: HeldUp) -> Delay {
        let from = Timestamp::from_nanos(1_000);
        Delay::new(ThreadId(thread), (from, from + Nanos::from_millis(millis)), by)
    }

    #[test]
    fn a_trigger_is_about_the_longest_delay_that_fits() {
        let delays = [
            delay(1, 90, HeldUp::Blocked),
            delay(2, 80, HeldUp::RunQueue),
            delay(3, 6, HeldUp::RunQueue),
        ];
        let chosen =
            |trigger: Trigger| trigger.fitting(&delays).first().map(|delay| delay.thread.0);
        assert_eq!(chosen(Trigger::Mark), Some(1));
        assert_eq!(chosen(Trigger::Pressure(Resource::Cpu)), Some(2));
        assert_eq!(chosen(Trigger::Pressure(Resource::Io)), Some(1));
        let late = |thread, millis| Trigger::Late {
            thread: ThreadId(thread),
            limit: Nanos::from_millis(millis),
        };
        assert_eq!(chosen(late(3, 5)), Some(3), "its rule has its own limit");
        assert_eq!(chosen(late(3, 7)), None);
        assert_eq!(chosen(late(1, 5)), None, "it did not wait for a CPU");
        assert_eq!(Trigger::Mark.fitting(&delays[2..]), [], "too short");
    }
}
