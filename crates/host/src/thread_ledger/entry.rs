//! The lines of a ledger.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::sched::{Policy, RunLimit, ThreadId};
use crate::threads::Began;

/// The name and major version of a ledger's form. A reader refuses others.
pub const SCHEMA: &str = "unjank.threads/2";
/// The form of before, without checksums and without [`Entry::Kept`]. It is
/// still read.
pub(super) const FORMER_SCHEMA: &str = "unjank.threads/1";

/// The first line.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Header {
    /// Always [`SCHEMA`].
    pub schema: String,
    /// The process whose threads are changed; `None` if it is started later.
    pub process: Option<u32>,
    /// The unjank that changes them.
    pub owner: u32,
    /// Whether the changes end with that unjank.
    pub tied: bool,
    /// `/proc/sys/kernel/random/boot_id` at that time, where the kernel tells.
    pub boot_id: Option<String>,
    /// The PID namespace in which the numbers are, as `/proc/self/ns/pid` has
    /// it, where the kernel tells.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pid_namespace: Option<String>,
    /// When it began, RFC 3339 in UTC.
    pub started_at: String,
}

/// How a thread is scheduled, as far as it is changed and put back.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct ThreadState {
    /// Its policy.
    pub policy: Policy,
    /// Whether what it starts begins as `SCHED_OTHER`.
    pub reset_on_fork: bool,
    /// Its nice value, which the kernel keeps also for a real-time thread.
    pub nice: i32,
}

/// `fifo:80`, and whether children fall back; the nice value only where it counts.
impl fmt::Display for ThreadState {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let reset = if self.reset_on_fork { " reset-on-fork" } else { "" };
        write!(f, "{}{reset}", self.policy)
    }
}

/// A thread that is about to be changed. Written down before that.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Intent {
    /// Its process.
    pub process: u32,
    /// Its number.
    pub thread: ThreadId,
    /// When it began: another thread may get its number.
    pub began: Began,
    /// Its name at that time.
    pub name: String,
    /// What it is put back to.
    pub before: ThreadState,
    /// What it is about to get.
    pub wanted: ThreadState,
}

/// Every further line.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Entry {
    /// A thread is about to be changed.
    Intent(Intent),
    /// It is changed.
    Settled {
        /// The thread.
        thread: ThreadId,
        /// What it has now, where that is not what was wanted.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        state: Option<ThreadState>,
    },
    /// It is back, or not ours to put back any more.
    Restored {
        /// The thread.
        thread: ThreadId,
    },
    /// `RLIMIT_RTTIME` of a process is about to be changed.
    Limit {
        /// The process.
        process: u32,
        /// When its first thread began.
        began: Began,
        /// What it is put back to.
        before: RunLimit,
        /// What it is about to get.
        during: RunLimit,
    },
    /// The session has ended as it should, and the changes are to stay.
    Kept,
    /// That limit is back, or not ours any more.
    LimitRestored {
        /// The process.
        process: u32,
    },
}
