//! Chooses what of a recording is explained: the thread and the window.

use std::collections::{BTreeMap, HashMap, HashSet};

use unjank_host::Timestamp;
use unjank_host::sched::ThreadId;
use unjank_host::tracefs::{Comm, EventKind, StorageEvent, Task, Trace};
use unjank_units::Nanos;

/// Names that are kept of a thread.
const MOST_NAMES: usize = 16;
/// Processes that an error lists.
const LISTED: usize = 12;
/// Bytes of a thread's name that the kernel keeps.
const NAME_LENGTH: usize = 15;

/// What a user says of the thread and the window.
#[derive(Debug, Clone, Default)]
pub struct Wanted {
    /// The process, by its name or number.
    pub process: Option<String>,
    /// The thread, by its name or number; else the first one of the process.
    pub thread: Option<String>,
    /// The beginning of the window; else the first exec of the process.
    pub from: Option<Moment>,
    /// The end of the window; else the end of the thread.
    pub to: Option<Moment>,
}

/// A moment of a recording.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Moment {
    /// By the clock of the trace.
    At(Timestamp),
    /// After the first event.
    After(Nanos),
}

/// What was chosen, and why.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Chosen {
    /// The thread.
    pub thread: ThreadId,
    /// The first thread of its program, if the recording was made for the two.
    pub first: ThreadId,
    /// The beginning of the window, and what it is.
    pub from: (Timestamp, &'static str),
    /// The end of the window, and what it is.
    pub to: (Timestamp, &'static str),
}

/// The thread and window that a recording of unjank's own was made for.
#[derive(Debug, Clone, Copy)]
pub struct Recorded {
    /// The thread.
    pub thread: ThreadId,
    /// The first thread of its program.
    pub first: ThreadId,
    /// The window.
    pub window: (Timestamp, Timestamp),
}

/// Chooses thread and window.
///
/// # Errors
/// A sentence that says what to name instead, with the processes of the
/// recording.
pub fn choose(trace: &Trace, wanted: &Wanted, own: Option<Recorded>) -> Result<Chosen, String> {
    let threads = Threads::of(trace);
    let process = match (&wanted.process, own) {
        (Some(process), _) => threads.process(process)?,
        (None, Some(own)) => own.first,
        (None, None) => {
            return Err(format!("name a process with --process: {}", threads.list()));
        }
    };
    let thread = match (&wanted.thread, own) {
        (Some(thread), _) => threads.thread_of(process, thread)?,
        (None, Some(own)) if own.first == process => own.thread,
        (None, _) => process,
    };
    let times = || trace.cpus.iter().flat_map(|cpu| &cpu.events).map(|event| event.at);
    let begin = times().min().unwrap_or_default();
    let end = times().max().unwrap_or_default();
    let own = own.filter(|own| own.thread == thread);
    let (window, first) = own.map(|own| (own.window, own.first)).unzip();
    let at = |moment: Moment| match moment {
        Moment::At(at) => at,
        Moment::After(time) => begin + time,
    };
    let from = match (wanted.from, window, threads.executed(process)) {
        (Some(from), ..) => (at(from), "--from"),
        (None, Some((from, _)), _) => (from, "as it was recorded"),
        (None, None, Some(exec)) => (exec, "the first exec of the process"),
        (None, None, None) => (begin, "the beginning of the recording"),
    };
    let to = match (wanted.to, window, threads.ended(thread)) {
        (Some(to), ..) => (at(to), "--to"),
        (None, Some((_, to)), _) => (to, "as it was recorded"),
        (None, None, Some(ended)) => (ended, "the end of the thread"),
        (None, None, None) => (end, "the end of the recording"),
    };
    if from.0 >= to.0 || from.0 >= end || to.0 <= begin {
        return Err(format!(
            "there is nothing from {} to {}; the recording covers {} to {}",
            seconds(from.0),
            seconds(to.0),
            seconds(begin),
            seconds(end)
        ));
    }
    Ok(Chosen { thread, first: first.unwrap_or(thread), from, to })
}

/// `38735.806062000 s`: as in a trace.
pub(crate) fn seconds(at: Timestamp) -> String {
    let nanos = at.as_nanos();
    format!("{}.{:09} s", nanos / 1_000_000_000, nanos % 1_000_000_000)
}

/// The threads of a trace.
#[derive(Debug, Default)]
struct Threads {
    seen: BTreeMap<ThreadId, ThreadSummary>,
}

/// What a trace says of a thread.
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
    fn of(trace: &Trace) -> Self {
        let mut threads = Self::default();
        // A thread's events are on several CPUs: the last name is by time.
        let mut named: HashMap<ThreadId, Timestamp> = HashMap::new();
        for event in trace.cpus.iter().flat_map(|cpu| &cpu.events) {
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
        threads
    }

    fn executed(&self, process: ThreadId) -> Option<Timestamp> {
        self.seen.get(&process)?.executed
    }

    fn ended(&self, thread: ThreadId) -> Option<Timestamp> {
        self.seen.get(&thread)?.ended
    }

    /// The process of this number or name. A program that was executed counts
    /// more than a name, which a child has from its parent.
    fn process(&self, wanted: &str) -> Result<ThreadId, String> {
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
    fn thread_of(&self, process: ThreadId, wanted: &str) -> Result<ThreadId, String> {
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

    /// The first known thread of a thread's process. `known` has those that were
    /// found before, so that no thread is visited twice.
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

    /// The processes, those first that executed a program.
    fn list(&self) -> String {
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
    use unjank_host::tracefs::Context;
    use unjank_host::tracefs::script::{Script, at};

    use super::*;

    fn storage(script: Script, nanos: u64, event: StorageEvent) -> Script {
        script.happens(0, nanos, Context::Thread, EventKind::Storage(event))
    }

    fn executes(script: Script, nanos: u64, process: u32, program: &str) -> Script {
        let program = Comm::from(program);
        storage(
            script,
            nanos,
            StorageEvent::Executed {
                process: ThreadId(process),
                before: ThreadId(process),
                program,
            },
        )
    }

    fn wanted(process: &str) -> Wanted {
        Wanted { process: Some(process.to_owned()), ..Wanted::default() }
    }

    /// A process that executed `app`, its thread 4, and the process `hog`.
    fn script() -> Script {
        let script = executes(Script::new().runs(0, 0, 9, 7), 40, 7, "sh");
        let script = executes(script, 50, 7, "app");
        let started = StorageEvent::Started { thread: ThreadId(4), same_process: true };
        let script = storage(script, 90, started).runs(0, 100, 7, 9).runs(0, 200, 9, 4);
        let ended = StorageEvent::Ended { thread: ThreadId(7), last: None };
        storage(script, 300, ended).runs(0, 400, 4, 9)
    }

    #[test]
    fn a_program_is_chosen_from_its_exec_to_its_end() {
        let chosen = choose(&script().trace(), &wanted("app"), None).unwrap();
        assert_eq!(chosen.thread, ThreadId(7));
        assert_eq!(chosen.from, (at(40), "the first exec of the process"));
        assert_eq!(chosen.to, (at(300), "the end of the thread"));
        assert_eq!(choose(&script().trace(), &wanted("7"), None), Ok(chosen));
        let hog = choose(&script().trace(), &wanted("hog"), None).unwrap();
        assert_eq!(hog.from, (at(0), "the beginning of the recording"));
        assert_eq!(hog.to, (at(400), "the end of the recording"));
    }

    #[test]
    fn a_thread_that_ends_on_two_cpus_ends_with_the_later() {
        let ended = EventKind::Storage(StorageEvent::Ended { thread: ThreadId(7), last: None });
        let twice = script().happens(1, 200, Context::Thread, ended).trace();
        let chosen = choose(&twice, &wanted("app"), None).unwrap();
        assert_eq!(chosen.to, (at(300), "the end of the thread"));
    }

    #[test]
    fn a_window_is_named_by_the_clock_or_after_the_begin() {
        let mut wanted = wanted("app");
        wanted.from = Some(Moment::At(at(60)));
        wanted.to = Some(Moment::After(Nanos(70)));
        let chosen = choose(&script().trace(), &wanted, None).unwrap();
        assert_eq!((chosen.from, chosen.to), ((at(60), "--from"), (at(70), "--to")));
        wanted.to = Some(Moment::After(Nanos(60)));
        let why = choose(&script().trace(), &wanted, None).unwrap_err();
        assert!(why.ends_with("the recording covers 0.000000000 s to 0.000000400 s"), "{why}");
    }

    #[test]
    fn what_unjank_recorded_is_chosen_without_a_name() {
        let first = ThreadId(7);
        let own = Recorded { thread: first, first, window: (at(45), at(250)) };
        let chosen = choose(&script().trace(), &Wanted::default(), Some(own)).unwrap();
        assert_eq!((chosen.from.0, chosen.to.0), (at(45), at(250)));
        let worker = Recorded { thread: ThreadId(4), ..own };
        for process in [None, Some("7".to_owned())] {
            let wanted = Wanted { process, ..Wanted::default() };
            let chosen = choose(&script().trace(), &wanted, Some(worker)).unwrap();
            assert_eq!((chosen.thread, chosen.first), (ThreadId(4), first));
            assert_eq!((chosen.from.0, chosen.to.0), (at(45), at(250)));
            let wanted = Wanted { thread: Some("7".to_owned()), ..wanted };
            let chosen = choose(&script().trace(), &wanted, Some(worker)).unwrap();
            assert_eq!((chosen.thread, chosen.first), (first, first));
            assert_eq!(chosen.to.1, "the end of the thread");
        }
        let other = choose(&script().trace(), &wanted("hog"), Some(own)).unwrap();
        assert_eq!(other.from.1, "the beginning of the recording");
    }

    #[test]
    fn several_processes_of_a_name_are_listed() {
        let both = executes(script(), 60, 9, "app").trace();
        let why = choose(&both, &wanted("app"), None).unwrap_err();
        let expected = "2 processes are called app: victim (7), hog (9); name one by its number: \
                        --process 7";
        assert_eq!(why, expected);
        let why = choose(&both, &Wanted::default(), None).unwrap_err();
        assert_eq!(why, "name a process with --process: victim (7), hog (9)");
        let why = choose(&both, &wanted("nobody"), None).unwrap_err();
        assert!(why.starts_with("the recording has no process called nobody; it has "), "{why}");
        assert!(choose(&both, &wanted("4711"), None).unwrap_err().contains("no process 4711"));
    }

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

    #[test]
    fn a_thread_is_chosen_within_its_process() {
        let mut wanted = wanted("app");
        wanted.thread = Some("t4".to_owned());
        let chosen = choose(&script().trace(), &wanted, None).unwrap();
        assert_eq!((chosen.thread, chosen.from.0), (ThreadId(4), at(40)));
        wanted.thread = Some("nobody".to_owned());
        let why = choose(&script().trace(), &wanted, None).unwrap_err();
        assert_eq!(why, "process 7 has no thread called nobody");
    }
}
