//! The processes and the time of a recording that count.

use std::collections::BTreeSet;

use unjank_host::sched::ThreadId;
use unjank_host::{Nanos, Timestamp};

/// The processes and the time that count.
#[derive(Debug, Clone)]
pub struct Options {
    /// The threads of a process, of which either the client or the server must be one; `None` for
    /// all.
    pub only: Option<BTreeSet<ThreadId>>,
    /// The first and the last moment.
    pub window: (Timestamp, Timestamp),
    /// A call that takes longer misses its deadline.
    pub deadline: Nanos,
    /// The most pairs of processes in a table.
    pub limit: usize,
    /// The command that explains a part of this recording: `unjank why FILE`.
    pub why: Option<String>,
}
