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
    /// The processes with this name, or with a path that ends in it.
    pub fn named(&self, name: &str) -> impl Iterator<Item = u32> {
        let found = self.names.iter().filter(move |(_, listed)| is_named(listed, name));
        found.map(|(&process, _)| process)
    }
}

/// Whether a listed name of a process is this one, or a path that ends in it.
pub(super) fn is_named(listed: &str, name: &str) -> bool {
    let is_path = listed.starts_with('/');
    listed == name || is_path && listed.rsplit('/').next() == Some(name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_process_is_named_by_its_path_or_the_end_of_it() {
        let listed = [(3, "/usr/bin/app"), (4, "app"), (5, "kworker/0"), (6, "/usr/bin/app2")];
        let names = listed.map(|(process, name)| (process, name.to_owned())).into();
        let processes = Processes { names, ..Processes::default() };
        let found = |name| processes.named(name).collect::<Vec<_>>();
        assert_eq!(found("app"), [3, 4]);
        assert_eq!(found("/usr/bin/app"), [3]);
        assert!(found("0").is_empty(), "a thread of the kernel has no path");
    }
}
