//! The watched processes: one, or also all that it has started.

use std::collections::{BTreeMap, BTreeSet};

use unjank_host::language_runtime::{self, LanguageRuntime};
use unjank_host::sched::ThreadId;
use unjank_host::threads::{self, Began};
use unjank_host::{Error, Nanos, Result, Root, Timestamp, hotspot, process::pid, waiting_call};

use super::observed::{Owner, Title, rate};

/// Programs whose process titles say that they wait for a lock.
const TITLED: [&str; 2] = ["postgres", "postmaster"];
/// The end of the title of a waiting process: `src/backend/utils/misc/ps_status.c`
/// of PostgreSQL.
const WAITS: &str = " waiting";

/// The watched processes, including those that have ended.
#[derive(Debug)]
pub(crate) struct Processes {
    leader: u32,
    tree: bool,
    known: BTreeMap<u32, TrackedProcess>,
}

#[derive(Debug)]
struct TrackedProcess {
    began: Began,
    alive: bool,
    program: String,
    runtimes: BTreeSet<LanguageRuntime>,
    /// The first and the last count of contended monitor entries, with their times.
    monitors: [Option<(u64, Timestamp)>; 2],
    title: Title,
    /// Whether it uses the system call numbers of another architecture.
    foreign: bool,
}

impl Processes {
    /// # Errors
    /// `Invalid` if there is no such process, or it has ended and waits for
    /// its parent.
    pub(crate) fn of(root: &Root, leader: u32, tree: bool) -> Result<Self> {
        let none = || Error::Invalid(format!("no such process: {leader}"));
        began(root, leader)?.ok_or_else(none)?;
        if pid::Waits::of(root, leader).is_none() {
            return Err(Error::Invalid(format!("process {leader} has ended")));
        }
        Ok(Self { leader, tree, known: BTreeMap::new() })
    }

    /// Updates all processes and finds new ones. Returns whether the first one
    /// still lives.
    pub(crate) fn look(&mut self, root: &Root) -> bool {
        let tree = if self.tree {
            pid::tree(root, self.leader, std::process::id())
        } else {
            vec![self.leader]
        };
        // A process that has lost its parent is no longer found through the tree.
        let all: BTreeSet<u32> = tree.into_iter().chain(self.known.keys().copied()).collect();
        for process in all {
            let lives = pid::Waits::of(root, process).is_some();
            let began = began(root, process).ok().flatten().filter(|_| lives);
            match (self.known.get_mut(&process), began) {
                (Some(known), Some(began)) if known.began == began => known.look(root, process),
                (Some(known), _) => known.alive = false,
                (None, Some(began)) => {
                    let mut known = TrackedProcess::new(began);
                    known.look(root, process);
                    self.known.insert(process, known);
                }
                (None, None) => {}
            }
        }
        self.known.get(&self.leader).is_some_and(|leader| leader.alive)
    }

    /// The numbers of the living processes.
    pub(crate) fn numbers(&self) -> Vec<u32> {
        self.known.iter().filter(|(_, known)| known.alive).map(|(number, _)| *number).collect()
    }

    /// How many processes were watched.
    pub(crate) fn count(&self) -> usize {
        self.known.len()
    }

    /// How many have system calls of another architecture.
    pub(crate) fn foreign(&self) -> usize {
        self.known.values().filter(|known| known.foreign).count()
    }

    /// What is known about the process of a thread.
    pub(crate) fn owner(&self, process: u32, thread: ThreadId) -> Owner {
        let Some(known) = self.known.get(&process) else {
            return Owner { process, ..Owner::default() };
        };
        let monitors = match known.monitors {
            [Some((first, from)), Some((last, to))] => {
                Some(rate(last.saturating_sub(first), to.since(from)))
            }
            _ => None,
        };
        let titled = thread.0 == process && known.title.looks > 0;
        Owner {
            process,
            program: known.program.clone(),
            runtimes: known.runtimes.clone(),
            monitors: monitors.filter(|_| known.monitored() > Nanos::ZERO),
            title: titled.then_some(known.title),
        }
    }
}

impl TrackedProcess {
    fn new(began: Began) -> Self {
        Self {
            began,
            alive: true,
            program: String::new(),
            runtimes: BTreeSet::new(),
            monitors: [None; 2],
            title: Title::default(),
            foreign: false,
        }
    }

    /// Updates a living process. A recently forked one may become another program.
    fn look(&mut self, root: &Root, process: u32) {
        let program = program(root, process);
        if program != self.program || self.program.is_empty() {
            self.runtimes = language_runtime::of(root, process);
            self.foreign = waiting_call::has_our_numbers(root, process) == Some(false);
            (self.monitors, self.program) = ([None; 2], program);
        }
        if self.runtimes.contains(&LanguageRuntime::HotSpot) {
            let now = hotspot::contended_monitors(root, process);
            let now = now.map(|count| (count, Timestamp::now()));
            self.monitors = [self.monitors[0].or(now), now.or(self.monitors[1])];
        }
        if TITLED.contains(&self.program.as_str()) {
            self.title.looks += 1;
            let words = pid::command_line(root, process).unwrap_or_default();
            let waits = words.first().is_some_and(|title| says_waiting(&title.to_string_lossy()));
            self.title.waiting += u64::from(waits);
        }
    }

    fn monitored(&self) -> Nanos {
        match self.monitors {
            [Some((_, from)), Some((_, to))] => to.since(from),
            _ => Nanos::ZERO,
        }
    }
}

/// `postgres: bench bench [local] UPDATE waiting`.
fn says_waiting(title: &str) -> bool {
    title.trim_end().ends_with(WAITS)
}

/// The name of a process's program: its file name, or else `comm`.
fn program(root: &Root, process: u32) -> String {
    let file = pid::executable(root, process);
    let name = file.as_ref().and_then(|file| file.file_name());
    name.map(|name| name.to_string_lossy().into_owned())
        .or_else(|| root.read(format!("/proc/{process}/comm")).ok())
        .map(|name| name.trim_end_matches('\n').to_owned())
        .unwrap_or_default()
}

/// The start time of a process: that of its first thread.
fn began(root: &Root, process: u32) -> Result<Option<Began>> {
    let first = threads::look(root, process, ThreadId(process))?;
    Ok(first.map(|thread| thread.began))
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::path::Path;

    use super::*;

    fn write(top: &Path, process: u32, title: &str, children: &str) {
        let task = top.join(format!("proc/{process}/task/{process}"));
        fs::create_dir_all(&task).unwrap();
        let stat = format!(
            "{process} (postgres) S 1 7 7 0 -1 4194560 1 0 0 0 150 50 0 0 20 0 3 0 9 1 2 \
             18446744073709551615 1 1 0 0 0 0 0 0 0 0 0 0 17 1 0 0 0 0 0"
        );
        fs::write(task.join("stat"), &stat).unwrap();
        fs::write(task.join("children"), children).unwrap();
        let process = top.join(format!("proc/{process}"));
        fs::write(process.join("stat"), stat).unwrap();
        fs::write(process.join("comm"), "postgres\n").unwrap();
        fs::write(process.join("cmdline"), title).unwrap();
    }

    #[test]
    fn a_tree_is_followed_as_it_grows_and_shrinks() {
        let top = tempfile::tempdir().unwrap();
        let root = Root::at(top.path());
        write(top.path(), 7, "postgres", "8");
        write(top.path(), 8, "postgres: a b [local] UPDATE waiting\0", "");
        let mut alone = Processes::of(&root, 7, false).unwrap();
        assert!(alone.look(&root) && alone.numbers() == [7]);
        let mut all = Processes::of(&root, 7, true).unwrap();
        assert!(all.look(&root) && all.numbers() == [7, 8]);
        write(top.path(), 7, "postgres", "9");
        write(top.path(), 9, "postgres: a b [local] idle", "");
        assert!(all.look(&root) && all.numbers() == [7, 8, 9], "8 has lost its parent");
        fs::remove_dir_all(top.path().join("proc/8")).unwrap();
        assert!(all.look(&root) && all.numbers() == [7, 9]);
        let title = |process| all.owner(process, ThreadId(process)).title;
        assert_eq!(title(8), Some(Title { looks: 2, waiting: 2 }));
        assert_eq!(title(9), Some(Title { looks: 2, waiting: 0 }));
        assert_eq!(all.owner(9, ThreadId(10)).title, None, "a title is of the first thread");
        assert_eq!((all.count(), all.foreign()), (3, 0));
        assert_eq!(all.owner(9, ThreadId(9)).program, "postgres");
        fs::remove_dir_all(top.path().join("proc/7")).unwrap();
        assert!(!all.look(&root));
    }

    #[test]
    fn a_title_says_that_it_waits_at_its_end_only() {
        assert!(says_waiting("postgres: a b [local] UPDATE waiting"));
        assert!(!says_waiting("postgres: waiting a [local] idle"));
        assert!(!says_waiting("waiting"));
    }
}
