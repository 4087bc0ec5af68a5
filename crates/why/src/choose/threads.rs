//! The threads of a recording, by number or by name.

use std::collections::{BTreeMap, HashMap, HashSet};

use unjank_host::Timestamp;
use unjank_host::input::Stop;
use unjank_host::sched::ThreadId;
use unjank_host::tracefs::{Comm, EventKind, StorageEvent, Task, Trace};

/// The most names that are kept for a thread.
const MOST_NAMES: usize = 16;
/// The most processes that an error lists.
const LISTED: usize = 12;
/// The length of a thread's name in the kernel, in bytes: `TASK_COMM_LEN` without the final zero.
const NAME_LENGTH: usize = 15;

/// The threads of a trace.
#[derive(Debug, Default)]
pub(super) struct Threads {
    seen: BTreeMap<ThreadId, ThreadSummary>,
}

/// The names, the program, the end and the process of a thread in a trace.
#[derive(Debug, Default)]
struct ThreadSummary {
    /// Its names, the last one last.
    names: Vec<Comm>,
    /// The programs that it executed.
    programs: Vec<Comm>,
    executed: Option<Timestamp>,
    ended: Option<Timestamp>,
    /// The thread of the same process that started it.
    sibling: Option<ThreadId>,
}

impl Threads {
    /// The threads of a trace; `None` after a stop request.
    pub(super) fn until(trace: &Trace, stop: &Stop) -> Option<Self> {
        let mut threads = Self::default();
        for (&thread, &name) in &trace.names {
            threads.seen.entry(thread).or_default().name(name, true);
        }
        // A thread's events are on several CPUs: the last name is by time.
        let mut named: HashMap<ThreadId, Timestamp> = HashMap::new();
        for event in trace.cpus.iter().flat_map(|cpu| &cpu.events) {
            if stop.is_requested() {
                return None;
            }
            let mut name = |task: Task| {
                if !task.is_idle() {
                    let latest = named.entry(task.tid).or_default();
                    threads.seen.entry(task.tid).or_default().name(task.comm, event.at >= *latest);
                    *latest = event.at.max(*latest);
                }
            };
            match event.kind {
                EventKind::Switch { prev, next, .. } => {
                    name(prev);
                    name(next);
                }
                EventKind::Waking { task, .. }
                | EventKind::Wakeup { task, .. }
                | EventKind::Migrate { task, .. } => name(task),
                EventKind::Storage(StorageEvent::Executed { process, program, .. }) => {
                    let seen = threads.seen.entry(process).or_default();
                    seen.executed =
                        Some(seen.executed.map_or(event.at, |before| before.min(event.at)));
                    if seen.programs.len() < MOST_NAMES {
                        seen.programs.push(program);
                    }
                }
                EventKind::Storage(StorageEvent::Ended { thread, .. }) => {
                    // In exec, a thread takes over the id of the first one, which ends.
                    let seen = threads.seen.entry(thread).or_default();
                    seen.ended = seen.ended.max(Some(event.at));
                }
                EventKind::Storage(StorageEvent::Started { thread, same_process: true }) => {
                    threads.seen.entry(thread).or_default().sibling = Some(event.current);
                }
                _ => {}
            }
        }
        Some(threads)
    }

    pub(super) fn ended(&self, thread: ThreadId) -> Option<Timestamp> {
        self.seen.get(&thread)?.ended
    }

    /// The process with this number or name. An executed program takes precedence over a
    /// thread's name, which a child inherits from its parent.
    pub(super) fn process(&self, wanted: &str) -> Result<ThreadId, String> {
        if let Some(process) = numbered(wanted) {
            return self.knows(process).then_some(process).ok_or_else(|| {
                format!("the recording has no process {wanted}; it has {}", self.list())
            });
        }
        let name = comm(wanted);
        let processes = || self.seen.iter().filter(|(_, seen)| seen.sibling.is_none());
        let mut found: Vec<ThreadId> = processes()
            .filter(|(_, seen)| seen.programs.contains(&name))
            .map(|(&process, _)| process)
            .collect();
        if found.is_empty() {
            let named = processes().filter(|(_, seen)| seen.names.last() == Some(&name));
            found = named.map(|(&process, _)| process).collect();
        }
        match found.as_slice() {
            [process] => Ok(*process),
            [] => {
                Err(format!("the recording has no process called {name}; it has {}", self.list()))
            }
            several => Err(format!(
                "{} processes are called {name}: {}; name one by its number: --process {}",
                several.len(),
                self.listed(several),
                several[0].0
            )),
        }
    }

    /// The thread of this number or name in a process.
    pub(super) fn thread_of(&self, process: ThreadId, wanted: &str) -> Result<ThreadId, String> {
        if let Some(thread) = numbered(wanted) {
            let known = self.knows(thread).then_some(thread);
            return known.ok_or_else(|| format!("the recording has no thread {wanted}"));
        }
        let name = comm(wanted);
        let named = || self.seen.iter().filter(|(_, seen)| seen.names.contains(&name));
        let mut leaders = HashMap::new();
        let mut found: Vec<ThreadId> = named()
            .map(|(&thread, _)| thread)
            .filter(|&thread| self.leader(thread, &mut leaders) == process)
            .collect();
        if found.is_empty() {
            // Threads that are older than the trace have no known process.
            let unknown = named().filter(|(_, seen)| seen.sibling.is_none());
            let unknown = unknown.filter(|(_, seen)| seen.executed.is_none());
            found = unknown.map(|(&thread, _)| thread).collect();
        }
        match found.as_slice() {
            [thread] => Ok(*thread),
            [] => Err(format!("process {} has no thread called {name}", process.0)),
            several => Err(format!(
                "{} threads are called {name}: {}; name one by its number: --thread {}",
                several.len(),
                self.listed(several),
                several[0].0
            )),
        }
    }

    fn knows(&self, thread: ThreadId) -> bool {
        self.seen.contains_key(&thread)
    }

    /// The first known thread of a thread's process. `known` caches the results, so that
    /// no thread is visited twice.
    fn leader(&self, thread: ThreadId, known: &mut HashMap<ThreadId, ThreadId>) -> ThreadId {
        let mut leader = thread;
        let mut visited = HashSet::new();
        while visited.insert(leader) {
            match (known.get(&leader), self.seen.get(&leader).and_then(|seen| seen.sibling)) {
                (Some(&found), _) => leader = found,
                (None, Some(sibling)) => leader = sibling,
                (None, None) => {}
            }
        }
        known.extend(visited.into_iter().map(|thread| (thread, leader)));
        leader
    }

    /// The processes as text. Those that executed a program come first, in order of time.
    pub(super) fn list(&self) -> String {
        let processes = self.seen.iter().filter(|(_, seen)| seen.sibling.is_none());
        let mut processes: Vec<(bool, Option<Timestamp>, ThreadId)> = processes
            .map(|(&thread, seen)| (seen.executed.is_none(), seen.executed, thread))
            .collect();
        processes.sort_unstable();
        let threads: Vec<ThreadId> = processes.into_iter().map(|(.., thread)| thread).collect();
        self.listed(&threads)
    }

    /// `bash (4711), git (4712) and 3 others`.
    fn listed(&self, threads: &[ThreadId]) -> String {
        let words = threads.iter().take(LISTED).map(|thread| {
            let name = self.seen.get(thread).and_then(|seen| seen.names.last());
            format!("{} ({})", name.copied().unwrap_or_default(), thread.0)
        });
        let words = words.collect::<Vec<_>>().join(", ");
        match threads.len().saturating_sub(LISTED) {
            0 => words,
            1 => format!("{words} and another"),
            others => format!("{words} and {others} others"),
        }
    }
}

impl ThreadSummary {
    fn name(&mut self, name: Comm, is_latest: bool) {
        if name.as_bytes().is_empty() || self.names.last() == Some(&name) {
            return;
        }
        self.names.retain(|known| *known != name);
        if self.names.len() == MOST_NAMES {
            self.names.remove(0);
        }
        let at = if is_latest { self.names.len() } else { 0 };
        self.names.insert(at, name);
    }
}

/// The thread of this number; `None` if it is no number.
fn numbered(wanted: &str) -> Option<ThreadId> {
    wanted.parse().ok().map(ThreadId)
}

/// A name, cut as the kernel does.
fn comm(name: &str) -> Comm {
    Comm::new(&name.as_bytes()[..name.len().min(NAME_LENGTH)])
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Following each thread to the first one would take minutes here.
    #[test]
    fn a_process_may_have_any_number_of_threads() {
        const THREADS: u32 = 100_000;
        let mut threads = Threads::default();
        let mut add = |thread: u32, sibling: Option<u32>| {
            let names = vec!["worker".into()];
            let seen =
                ThreadSummary { names, sibling: sibling.map(ThreadId), ..ThreadSummary::default() };
            threads.seen.insert(ThreadId(thread), seen);
        };
        // Each has started the next one; the last two, each other.
        (1..=THREADS).for_each(|thread| add(thread, (thread > 1).then(|| thread - 1)));
        add(THREADS + 1, Some(THREADS + 2));
        add(THREADS + 2, Some(THREADS + 1));
        let why = threads.thread_of(ThreadId(1), "worker").unwrap_err();
        assert!(why.starts_with("100000 threads are called worker: "), "{why}");
        let mut known = HashMap::new();
        let of_circle = [1, 2].map(|last| threads.leader(ThreadId(THREADS + last), &mut known));
        assert_eq!(of_circle[0], of_circle[1]);
    }
}
