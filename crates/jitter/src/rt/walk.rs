//! What became of the threads of a process.

use serde::Serialize;
use unjank_host::Error;
use unjank_host::sched::ThreadId;
use unjank_host::thread_ledger::State;

use super::means::Means;

/// A thread that has another policy now.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Changed {
    /// Its process.
    pub process: u32,
    /// Its number.
    pub thread: ThreadId,
    /// Its name.
    pub name: String,
    /// What it had.
    pub before: State,
    /// What it has.
    pub now: State,
    /// By which means.
    pub means: Means,
    /// What it was to have and why it has not, if it has something else.
    pub instead_of: Option<Instead>,
}

/// What a thread was to have.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Instead {
    /// This.
    pub wanted: State,
    /// And why not.
    pub because: String,
}

/// A thread that could not be changed.
#[derive(Debug)]
pub struct Failed {
    /// Its number.
    pub thread: ThreadId,
    /// Its name.
    pub name: String,
    /// Why.
    pub error: Error,
}

/// What became of the threads that were looked at.
#[derive(Debug, Default)]
pub struct Walk {
    /// Threads that were there.
    pub seen: usize,
    /// Those that have another policy now.
    pub changed: Vec<Changed>,
    /// Those that had the policy already.
    pub already: usize,
    /// Those that ended meanwhile.
    pub gone: usize,
    /// Those that could not be changed.
    pub failed: Vec<Failed>,
    /// Processes that the kernel does not limit, and why.
    pub unlimited: Vec<(u32, Error)>,
}
