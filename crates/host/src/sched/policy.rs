//! Scheduling policies and priorities: `sched(7)`.

use std::fmt;

use serde::{Deserialize, Serialize};

use super::fair::Fair;
use super::typed::Typed;
use crate::error::{Error, Result};
use unjank_units::Nanos;

/// A thread id of the kernel: `gettid(2)`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(transparent)]
pub struct ThreadId(pub u32);

impl ThreadId {
    /// The id of the calling thread: `gettid(2)`.
    pub fn current() -> Self {
        Self(rustix::thread::gettid().as_raw_nonzero().get().unsigned_abs())
    }
}

impl fmt::Display for ThreadId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "thread {}", self.0)
    }
}

/// A real-time priority, 1 (lowest) to 99: `sched(7)`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(try_from = "u8", into = "u8")]
pub struct Priority(pub(super) u8);

impl Priority {
    /// Checks the range 1–99.
    ///
    /// # Errors
    /// `Invalid` outside it.
    pub fn new(priority: u8) -> Result<Self> {
        if (1..=99).contains(&priority) {
            Ok(Self(priority))
        } else {
            Err(Error::Invalid(format!("real-time priority {priority} is out of range (1 to 99)")))
        }
    }

    /// The number, 1 (lowest) to 99.
    pub const fn get(self) -> u8 {
        self.0
    }
}

impl TryFrom<u8> for Priority {
    type Error = Error;

    fn try_from(priority: u8) -> Result<Self> {
        Self::new(priority)
    }
}

impl From<Priority> for u8 {
    fn from(priority: Priority) -> Self {
        priority.0
    }
}

/// The scheduling policy of a thread: `sched(7)`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Policy {
    /// `SCHED_OTHER`: the fair class.
    Other(Fair),
    /// `SCHED_BATCH`: the fair class, for threads that tolerate delays.
    Batch(Fair),
    /// `SCHED_IDLE`.
    Idle,
    /// `SCHED_FIFO`: runs until it blocks or yields.
    Fifo(Priority),
    /// `SCHED_RR`: as FIFO, with a time slice among threads of equal priority.
    RoundRobin(Priority),
    /// `SCHED_DEADLINE`: a run time in every period, in nanoseconds.
    Deadline {
        /// Guaranteed run time.
        runtime: u64,
        /// The time from the start of a period by which the run time is
        /// granted.
        deadline: u64,
        /// Length of a period: `sched_period` of `sched_setattr(2)`.
        period: u64,
    },
}

impl Policy {
    /// `SCHED_OTHER` with a nice value.
    pub const fn other(nice: i32) -> Self {
        Self::Other(Fair::nice(nice))
    }

    /// `SCHED_BATCH` with a nice value.
    pub const fn batch(nice: i32) -> Self {
        Self::Batch(Fair::nice(nice))
    }

    /// The parameters of the fair class, for its two policies.
    pub fn fair(self) -> Option<Fair> {
        match self {
            Self::Other(fair) | Self::Batch(fair) => Some(fair),
            _ => None,
        }
    }

    /// Whether it is `SCHED_FIFO`, `SCHED_RR` or `SCHED_DEADLINE`: these
    /// policies run before every ordinary thread.
    pub fn is_realtime(self) -> bool {
        matches!(self, Self::Fifo(_) | Self::RoundRobin(_) | Self::Deadline { .. })
    }
}

/// As in series names and on the command line: `other`, `fifo:80`.
impl fmt::Display for Policy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Other(fair) => write!(f, "other{fair}"),
            Self::Batch(fair) => write!(f, "batch{fair}"),
            Self::Idle => write!(f, "idle"),
            Self::Fifo(priority) => write!(f, "fifo:{}", priority.0),
            Self::RoundRobin(priority) => write!(f, "rr:{}", priority.0),
            Self::Deadline { runtime, deadline, period } => {
                let [runtime, deadline, period] =
                    [runtime, deadline, period].map(|time| Typed(Nanos(*time)));
                write!(f, "deadline:{runtime}/{deadline}/{period}")
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn priorities_go_from_1_to_99() {
        assert!(Priority::new(0).is_err());
        assert!(Priority::new(100).is_err());
        assert_eq!(Policy::Fifo(Priority::new(99).unwrap()).to_string(), "fifo:99");
    }
}
