//! The threads and the time of a recording that count.

use std::collections::{BTreeMap, BTreeSet};

use unjank_host::Timestamp;
use unjank_host::inode::FileId;
use unjank_host::sched::ThreadId;

/// The threads and the time that count.
#[derive(Debug, Clone)]
pub struct Options {
    /// The threads of a process; `None` for all. kswapd counts in any case.
    pub only: Option<BTreeSet<ThreadId>>,
    /// The first and the last moment.
    pub window: (Timestamp, Timestamp),
    /// The paths of files, as far as the recording has them.
    pub paths: BTreeMap<FileId, String>,
    /// The most rows of a table.
    pub limit: usize,
    /// The command that explains a part of this recording: `unjank why FILE`.
    pub why: Option<String>,
}
