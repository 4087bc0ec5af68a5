//! The result of a walk over the threads of a process.

use serde::Serialize;
use unjank_host::Error;
use unjank_host::sched::ThreadId;
use unjank_host::thread_ledger::ThreadState;

use super::means::Means;

/// A thread that has another policy now.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Changed {
    /// Id of the thread's process (TGID).
    pub process: u32,
    /// Its thread id (TID).
    pub thread: ThreadId,
    /// Its name, of which the kernel keeps 15 bytes.
    pub name: String,
    /// Its policy, reset-on-fork flag and nice value before the change.
    pub before: ThreadState,
    /// Its policy, reset-on-fork flag and nice value after the change.
    pub now: ThreadState,
    /// How it got the new policy.
    pub means: Means,
    /// The wanted policy, if the new one differs.
    pub instead_of: Option<Instead>,
}

/// A policy that a thread did not get.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Instead {
    /// The policy that it was to get.
    pub wanted: ThreadState,
    /// Why the thread has another one.
    pub because: String,
}

/// A thread that could not be changed.
#[derive(Debug)]
pub struct Failed {
    /// Its thread id (TID).
    pub thread: ThreadId,
    /// Its name, of which the kernel keeps 15 bytes.
    pub name: String,
    /// Why it could not be changed.
    pub error: Error,
}

/// What a walk has seen and changed.
#[derive(Debug, Default)]
pub struct Walk {
    /// Number of threads seen.
    pub seen: usize,
    /// Threads that have another policy now.
    pub changed: Vec<Changed>,
    /// Threads that had the policy already.
    pub already: usize,
    /// Threads that ended meanwhile.
    pub gone: usize,
    /// Threads that could not be changed.
    pub failed: Vec<Failed>,
    /// Processes whose run limit could not be set, and why.
    pub unlimited: Vec<(u32, Error)>,
}
