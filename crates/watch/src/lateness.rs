//! The waits for a CPU of threads with a rule, once a second, by the kernel's own count
//! (`schedstat`: `Documentation/scheduler/sched-stats.rst`). The count is of all waits of that
//! second: whether one of them was too long, the recording shows.

use std::collections::BTreeMap;

use unjank_host::sched::ThreadId;
use unjank_host::{Nanos, Root, Timestamp, threads};

use crate::rule::Rule;

/// The interval between two looks for new threads, which needs all of `/proc`.
const SEARCH: Nanos = Nanos::from_millis(10_000);
/// The most threads that are watched.
const MOST: usize = 1_000;

/// Watches the threads that have a rule.
#[derive(Debug)]
pub struct Lateness {
    root: Root,
    rules: Vec<Rule>,
    watched: BTreeMap<ThreadId, Watched>,
    search_at: Timestamp,
}

#[derive(Debug)]
struct Watched {
    process: u32,
    limit: Nanos,
    waited: Option<Nanos>,
}

impl Lateness {
    /// Watches threads by rules; the first rule that a name matches counts.
    pub fn new(root: &Root, rules: Vec<Rule>) -> Self {
        let (watched, search_at) = (BTreeMap::new(), Timestamp::default());
        Self { root: root.clone(), rules, watched, search_at }
    }

    /// Whether there are rules, so that polling is needed.
    pub fn is_needed(&self) -> bool {
        !self.rules.is_empty()
    }

    /// The number of watched threads.
    pub fn len(&self) -> usize {
        self.watched.len()
    }

    /// Whether no thread is watched.
    pub fn is_empty(&self) -> bool {
        self.watched.is_empty()
    }

    /// The thread that has waited longest beyond its limit since the last look, and the limit.
    pub fn poll(&mut self, now: Timestamp) -> Option<(ThreadId, Nanos)> {
        if self.rules.is_empty() {
            return None;
        }
        if now >= self.search_at {
            self.search();
            self.search_at = now + SEARCH;
        }
        let mut latest: Option<(ThreadId, Nanos, Nanos)> = None;
        let root = &self.root;
        self.watched.retain(|&thread, watched| {
            let Some(waited) = threads::run_delay(root, watched.process, thread) else {
                return false;
            };
            let before = watched.waited.replace(waited);
            let new = before.map_or(Nanos::ZERO, |before| waited - before);
            if new >= watched.limit && latest.is_none_or(|(.., most)| new > most) {
                latest = Some((thread, watched.limit, new));
            }
            true
        });
        latest.map(|(thread, limit, _)| (thread, limit))
    }

    /// Looks for threads that have a rule.
    fn search(&mut self) {
        let processes = self.root.list("/proc").unwrap_or_default();
        for process in processes.iter().filter_map(|name| name.parse::<u32>().ok()) {
            for thread in threads::ids(&self.root, process).unwrap_or_default() {
                if self.watched.len() >= MOST || self.watched.contains_key(&thread) {
                    continue;
                }
                let comm = self.root.read(format!("/proc/{process}/task/{}/comm", thread.0));
                let Ok(name) = comm else { continue };
                let rule = self.rules.iter().find(|rule| rule.applies_to(&name));
                if let Some(limit) = rule.map(|rule| rule.limit) {
                    self.watched.insert(thread, Watched { process, limit, waited: None });
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn a_thread_that_waited_longer_than_its_limit_is_late() {
        let tree = tempfile::tempdir().unwrap();
        let task = |thread: u32| tree.path().join(format!("proc/40/task/{thread}"));
        let wait = |thread: u32, millis: u64| {
            let text = format!("5000 {} 9\n", millis * 1_000_000);
            fs::write(task(thread).join("schedstat"), text).unwrap();
        };
        for (thread, name) in [(40, "audio"), (41, "audio-2"), (42, "other")] {
            fs::create_dir_all(task(thread)).unwrap();
            fs::write(task(thread).join("comm"), format!("{name}\n")).unwrap();
            wait(thread, 100);
        }
        let rules = [("audio", 5), ("audio*", 50)]
            .map(|(name, millis)| Rule::new(name, Nanos::from_millis(millis)).unwrap())
            .to_vec();
        let mut lateness = Lateness::new(&Root::at(tree.path()), rules);
        let at = |seconds: u64| Timestamp::from_nanos(seconds * 1_000_000_000);
        assert_eq!(lateness.poll(at(1)), None, "what was before does not count");
        assert_eq!(lateness.len(), 2);
        wait(42, 900);
        wait(40, 104);
        assert_eq!(lateness.poll(at(2)), None);
        wait(40, 110);
        wait(41, 140);
        assert_eq!(lateness.poll(at(3)), Some((ThreadId(40), Nanos::from_millis(5))));
        wait(41, 200);
        wait(40, 116);
        assert_eq!(lateness.poll(at(4)), Some((ThreadId(41), Nanos::from_millis(50))));
        fs::remove_dir_all(task(40)).unwrap();
        assert_eq!(lateness.poll(at(5)), None);
        assert_eq!(lateness.len(), 1);
    }
}
