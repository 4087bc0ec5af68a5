//! The lines of a ledger.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::sched::{Policy, RunLimit, ThreadId};
use crate::threads::Began;

/// The name and major version of a ledger's form. A reader refuses others.
pub const SCHEMA: &str = "unjank.threads/2";
/// The previous form, without checksums and without [`Entry::Kept`]. It is
/// still read.
pub(super) const FORMER_SCHEMA: &str = "unjank.threads/1";

/// The first line of a ledger: its schema and its session.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Header {
    /// Always [`SCHEMA`].
    pub schema: String,
    /// The process whose threads are changed; `None` if it is started later.
    pub process: Option<u32>,
    /// The process number of the unjank that changes them.
    pub owner: u32,
    /// Whether the changes end with that unjank.
    pub tied: bool,
    /// `/proc/sys/kernel/random/boot_id` at that time, if it was readable.
    pub boot_id: Option<String>,
    /// The PID namespace of the numbers, as in `/proc/self/ns/pid`, if it was
    /// readable.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pid_namespace: Option<String>,
    /// Start of the session, RFC 3339 in UTC.
    pub started_at: String,
}

/// The scheduling attributes of a thread that are changed and put back.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct ThreadState {
    /// The scheduling policy and its parameters: `sched(7)`.
    pub policy: Policy,
    /// Whether its children begin as `SCHED_OTHER` (`SCHED_RESET_ON_FORK`).
    pub reset_on_fork: bool,
    /// The nice value, which the kernel also keeps for a real-time thread.
    pub nice: i32,
}

/// `fifo:80 reset-on-fork`; with the nice value only for fair policies.
impl fmt::Display for ThreadState {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let reset = if self.reset_on_fork { " reset-on-fork" } else { "" };
        write!(f, "{}{reset}", self.policy)
    }
}

/// A thread that is about to be changed. Recorded before the change.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Intent {
    /// Id of the thread's process (TGID).
    pub process: u32,
    /// Id of the thread (TID): `gettid(2)`.
    pub thread: ThreadId,
    /// Start time of the thread, because the kernel reuses thread ids.
    pub began: Began,
    /// Name of the thread when it was changed.
    pub name: String,
    /// The present state, which is put back.
    pub before: ThreadState,
    /// The state that it is about to get.
    pub wanted: ThreadState,
    /// The time of the session's first change of this thread, in nanoseconds of
    /// `CLOCK_MONOTONIC`; the ledger sets it. Older unjanks recorded none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub at_ns: Option<u64>,
}

/// Any later line.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Entry {
    /// A thread is about to be changed.
    Intent(Intent),
    /// It is changed.
    Settled {
        /// The id in the thread's [`Intent`].
        thread: ThreadId,
        /// Its state now, if that is not the wanted one.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        state: Option<ThreadState>,
    },
    /// It is back, or must not be put back any more.
    Restored {
        /// The id in the thread's [`Intent`].
        thread: ThreadId,
    },
    /// `RLIMIT_RTTIME` of a process is about to be changed.
    Limit {
        /// Id of the process, which is also that of its first thread.
        process: u32,
        /// The start time of its first thread.
        began: Began,
        /// The present limit, which is put back.
        before: RunLimit,
        /// The limit that it is about to get.
        during: RunLimit,
        /// As for a thread.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        at_ns: Option<u64>,
    },
    /// The session has ended normally, and its changes stay.
    Kept,
    /// The limit is back, or must not be put back any more.
    LimitRestored {
        /// The id in the process's [`Entry::Limit`].
        process: u32,
    },
}
