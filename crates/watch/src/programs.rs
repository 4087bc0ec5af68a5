//! Finds the threads of programs whose system calls and page faults are recorded, by the names of
//! their processes.

use std::collections::BTreeSet;

use unjank_host::process::pid;
use unjank_host::sched::ThreadId;
use unjank_host::thread_pattern::ThreadPattern;
use unjank_host::{Nanos, Root, Timestamp, threads};

/// The interval between two searches for processes, which read all of `/proc`.
const SEARCH: Nanos = Nanos::from_millis(10_000);
/// The most threads: the kernel keeps their list for each trace instance.
const MOST: usize = 10_000;

/// Finds the threads of programs.
#[derive(Debug)]
pub struct Programs {
    root: Root,
    patterns: Vec<ThreadPattern>,
    /// Threads that were found before. Those that they start are recorded without being found.
    known: BTreeSet<ThreadId>,
    search_at: Timestamp,
}

impl Programs {
    /// Finds the threads of processes whose name matches a pattern.
    pub fn new(root: &Root, patterns: Vec<ThreadPattern>) -> Self {
        let (known, search_at) = (BTreeSet::new(), Timestamp::default());
        Self { root: root.clone(), patterns, known, search_at }
    }

    /// Whether there are patterns, so that polling is needed.
    pub fn is_needed(&self) -> bool {
        !self.patterns.is_empty()
    }

    /// The threads that were not found before. It searches every ten seconds and otherwise returns
    /// none.
    pub fn poll(&mut self, now: Timestamp) -> Vec<ThreadId> {
        if self.patterns.is_empty() {
            return Vec::new();
        }
        if now < self.search_at {
            return Vec::new();
        }
        self.search_at = now + SEARCH;
        let found = self.found();
        // The number of a thread that has ended may come back as another one.
        self.known.retain(|thread| found.contains(thread));
        found.into_iter().filter(|thread| self.known.insert(*thread)).collect()
    }

    fn found(&self) -> BTreeSet<ThreadId> {
        let is_wanted = |name: &str| self.patterns.iter().any(|pattern| pattern.matches(name));
        let processes = pid::named(&self.root, is_wanted).into_iter();
        let all = processes
            .flat_map(|(process, _)| threads::ids(&self.root, process).unwrap_or_default());
        all.take(MOST).collect()
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn threads_of_a_program_are_found_once() {
        let tree = tempfile::tempdir().unwrap();
        let process = |number: u32, name: &str, threads: &[u32]| {
            let directory = tree.path().join(format!("proc/{number}"));
            for thread in threads {
                fs::create_dir_all(directory.join(format!("task/{thread}"))).unwrap();
            }
            fs::write(directory.join("comm"), format!("{name}\n")).unwrap();
        };
        process(40, "firefox", &[40, 41]);
        process(50, "bash", &[50]);
        let patterns = vec![ThreadPattern::new("fire*").unwrap()];
        let mut programs = Programs::new(&Root::at(tree.path()), patterns);
        let at = |seconds: u64| Timestamp::from_nanos(seconds * 1_000_000_000);
        assert_eq!(programs.poll(at(1)), [ThreadId(40), ThreadId(41)]);
        process(60, "firefox", &[60]);
        assert_eq!(programs.poll(at(2)), [], "it searches every ten seconds");
        assert_eq!(programs.poll(at(11)), [ThreadId(60)]);
        fs::remove_dir_all(tree.path().join("proc/60")).unwrap();
        assert_eq!(programs.poll(at(21)), []);
        process(60, "firefox", &[60]);
        assert_eq!(programs.poll(at(31)), [ThreadId(60)], "another one");
    }
}
