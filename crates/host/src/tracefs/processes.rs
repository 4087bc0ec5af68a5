//! The processes that a recording lists: which threads they have, and their names.

use std::collections::BTreeMap;

use crate::sched::ThreadId;

/// The processes that a recording lists.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Processes {
    /// The process id (TGID) of each thread.
    pub of_threads: BTreeMap<ThreadId, u32>,
    /// The name of each process: the first word of its command line, which has no limit of 15 bytes
    /// as the name of a thread does.
    pub names: BTreeMap<u32, String>,
}

impl Processes {
    /// The processes with this name.
    pub fn named(&self, name: &str) -> impl Iterator<Item = u32> {
        let found = self.names.iter().filter(move |(_, named)| *named == name);
        found.map(|(&process, _)| process)
    }
}
