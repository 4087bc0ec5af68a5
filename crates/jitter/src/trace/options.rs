//! The threads and the time of a recording that count.

use std::collections::BTreeSet;

use unjank_host::sched::ThreadId;
use unjank_host::thread_pattern::ThreadPattern;
use unjank_host::{Nanos, Timestamp};

/// The threads and the time that count.
#[derive(Debug, Clone)]
pub struct Options {
    /// Threads by their last names; `None` for all.
    pub thread: Option<ThreadPattern>,
    /// The threads of a process; `None` for all.
    pub only: Option<BTreeSet<ThreadId>>,
    /// The first and the last moment.
    pub window: (Timestamp, Timestamp),
    /// A thread that waits longer for a CPU is late.
    pub late: Nanos,
    /// The most rows of a table.
    pub limit: usize,
    /// The command that explains a part of this recording: `unjank why FILE`.
    pub why: Option<String>,
}
