//! The threads of the watched processes, with the first and the last reading of
//! their counters.

use std::collections::{BTreeMap, BTreeSet};

use unjank_host::sched::{Policy, ThreadId};
use unjank_host::thread_activity::{self, Activity};
use unjank_host::{Nanos, Result, Root, Timestamp, threads};

use super::observed::ObservedThread;
use super::processes::Processes;

/// All observed threads by their number, which is unique on the machine at any
/// one time.
#[derive(Debug)]
pub(crate) struct Roster {
    processes: Processes,
    /// The start of the first look at all threads, and the end of the last one. All readings lie
    /// between them.
    began: Timestamp,
    ended: Timestamp,
    /// The start of the last look, and how much had been traced then.
    looked: Timestamp,
    traced: Nanos,
    known: BTreeMap<ThreadId, TrackedThread>,
    /// Threads whose numbers have been reused.
    past: Vec<TrackedThread>,
}

#[derive(Debug)]
struct TrackedThread {
    process: u32,
    /// The first reading; `None` if it began while it was watched.
    first: Option<Activity>,
    since: Timestamp,
    last: Activity,
    until: Timestamp,
    /// How much had been traced when it was first and last present.
    traced: [Nanos; 2],
}

/// The result of one look at all threads.
#[derive(Debug)]
pub(crate) struct Look {
    /// Whether the first process still lives.
    pub(crate) alive: bool,
    /// Threads that are new since the last look.
    pub(crate) new: Vec<ThreadId>,
    /// How long it took.
    pub(crate) took: Nanos,
}

impl Roster {
    /// The present threads of `process`, and with `tree` those of all processes
    /// that it has started.
    ///
    /// # Errors
    /// `Invalid` if there is no such process, or it has ended and waits for
    /// its parent.
    pub(crate) fn of(root: &Root, process: u32, tree: bool) -> Result<Self> {
        let processes = Processes::of(root, process, tree)?;
        let looked = Timestamp::now();
        let mut roster = Self {
            processes,
            began: looked,
            ended: looked,
            looked,
            traced: Nanos::ZERO,
            known: BTreeMap::new(),
            past: Vec::new(),
        };
        roster.look(root, Nanos::ZERO)?;
        for known in roster.known.values_mut() {
            known.first = Some(known.last.clone());
            known.since = known.until;
        }
        Ok(roster)
    }

    /// Reads all threads; `traced` is how much was traced until now.
    ///
    /// # Errors
    /// A `stat` file that cannot be parsed.
    pub(crate) fn look(&mut self, root: &Root, traced: Nanos) -> Result<Look> {
        let start = Timestamp::now();
        let mut look = Look { alive: false, new: Vec::new(), took: Nanos::ZERO };
        look.alive = self.processes.look(root);
        let mut present = BTreeSet::new();
        for process in self.processes.numbers() {
            for id in threads::ids(root, process).unwrap_or_default() {
                present.insert(id);
                let Some(seen) = thread_activity::of(root, process, id)? else { continue };
                let now = Timestamp::now();
                match self.known.get_mut(&id) {
                    Some(known) if known.last.thread.began == seen.thread.began => {
                        (known.last, known.until, known.traced[1]) = (seen, now, traced);
                    }
                    _ => {
                        look.new.push(id);
                        let (last, until) = (seen, now);
                        let (first, since) = first_reading(&last, self.looked, now);
                        let traced = [self.traced, traced];
                        let known = TrackedThread { process, first, since, last, until, traced };
                        self.past.extend(self.known.insert(id, known));
                    }
                }
            }
        }
        // Threads that have ended were still traced after the previous look.
        let was_there = |known: &&mut TrackedThread| known.traced[1] == self.traced;
        let ended = self.known.iter_mut().filter(|(id, _)| !present.contains(*id));
        for known in ended.map(|(_, known)| known).filter(was_there) {
            known.traced[1] = traced;
        }
        self.ended = Timestamp::now();
        look.took = self.ended.since(start);
        (self.looked, self.traced) = (start, traced);
        Ok(look)
    }

    /// The time in which all threads were watched, each for all of it or for a part.
    pub(crate) fn length(&self) -> Nanos {
        self.ended.since(self.began)
    }

    /// The numbers of all threads that were ever seen.
    pub(crate) fn ids(&self) -> Vec<ThreadId> {
        self.known.keys().copied().collect()
    }

    /// The processes that were watched.
    pub(crate) fn processes(&self) -> &Processes {
        &self.processes
    }

    /// The process of this thread.
    pub(crate) fn process_of(&self, thread: ThreadId) -> Option<u32> {
        self.known.get(&thread).map(|known| known.process)
    }

    /// Threads that cannot be judged, because their numbers were reused.
    pub(crate) fn lost(&self) -> usize {
        self.past.len()
    }

    /// The observations of each thread, and for how long it was traced.
    pub(crate) fn observed(&self) -> impl Iterator<Item = (ObservedThread, Nanos)> {
        self.known.values().map(|known| {
            let owner = self.processes.owner(known.process, known.last.thread.id);
            (ObservedThread { owner, ..known.observed() }, known.traced[1] - known.traced[0])
        })
    }
}

/// The first reading of a thread that is new at `now` and was not there at `looked`, and when it was
/// watched from. A thread with more CPU time than can have passed since then is older: it belongs
/// to a process that has joined the tree. It counts from now on.
fn first_reading(
    seen: &Activity,
    looked: Timestamp,
    now: Timestamp,
) -> (Option<Activity>, Timestamp) {
    let is_older = seen.cpu > now.since(looked);
    if is_older { (Some(seen.clone()), now) } else { (None, looked) }
}

impl TrackedThread {
    fn observed(&self) -> ObservedThread {
        let last = &self.last;
        let first = self.first.as_ref();
        let time = |of: fn(&Activity) -> Nanos| of(last) - first.map_or(Nanos::ZERO, of);
        let count = |of: fn(&Activity) -> u64| of(last).saturating_sub(first.map_or(0, of));
        ObservedThread {
            realtime: last.thread.policy.is_some_and(Policy::is_realtime),
            watched: self.until.since(self.since),
            cpu: time(|it| it.cpu),
            user: time(|it| it.user),
            system: time(|it| it.system),
            ready: last
                .ready
                .map(|ready| ready - first.and_then(|it| it.ready).unwrap_or_default()),
            voluntary: count(|it| it.voluntary),
            involuntary: count(|it| it.involuntary),
            cpus: last.cpus.clone(),
            ..ObservedThread::new(last.thread.id, last.thread.name.clone())
        }
    }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::path::Path;

    use super::*;

    fn write(top: &Path, thread: u32, began: u64, cpu: u64) {
        let task = top.join(format!("proc/7/task/{thread}"));
        fs::create_dir_all(&task).unwrap();
        let stat = format!(
            "{thread} (w) S 1 7 7 0 -1 4194560 1 0 0 0 150 50 0 0 20 0 3 0 {began} 1 2 \
             18446744073709551615 1 1 0 0 0 0 0 0 0 0 0 0 17 1 0 0 0 0 0"
        );
        fs::write(task.join("stat"), &stat).unwrap();
        fs::write(task.join("status"), "voluntary_ctxt_switches:\t5\n").unwrap();
        fs::write(task.join("schedstat"), format!("{cpu} 10 1")).unwrap();
        fs::write(top.join("proc/7/stat"), stat).unwrap();
    }

    #[test]
    fn threads_that_come_and_go_are_kept_apart() {
        let top = tempfile::tempdir().unwrap();
        let root = Root::at(top.path());
        assert!(
            Roster::of(&root, 7, false).unwrap_err().to_string().contains("no such process: 7")
        );
        write(top.path(), 8, 1, 100);
        write(top.path(), 7, 1, 100);
        let mut roster = Roster::of(&root, 7, false).unwrap();
        assert_eq!(roster.ids(), [ThreadId(7), ThreadId(8)]);
        write(top.path(), 9, 2, 30);
        write(top.path(), 8, 3, 40);
        write(top.path(), 7, 1, 150);
        let look = roster.look(&root, Nanos(5)).unwrap();
        assert!(look.alive);
        assert_eq!(look.new, [ThreadId(8), ThreadId(9)], "8 is another thread now");
        let cpu: Vec<_> = roster.observed().map(|(seen, traced)| (seen.cpu.0, traced.0)).collect();
        assert_eq!(cpu, [(50, 5), (40, 5), (30, 5)]);
        assert_eq!(roster.lost(), 1);
    }

    #[test]
    fn a_thread_that_is_older_than_the_last_look_counts_from_its_first_reading_on() {
        let top = tempfile::tempdir().unwrap();
        let root = Root::at(top.path());
        write(top.path(), 7, 1, 100);
        let mut roster = Roster::of(&root, 7, false).unwrap();
        let hour = 3_600_000_000_000;
        for cpu in [hour, hour + 70] {
            write(top.path(), 8, 1, cpu);
            roster.look(&root, Nanos::ZERO).unwrap();
        }
        let used: Vec<u64> = roster.observed().map(|(seen, _)| seen.cpu.0).collect();
        assert_eq!(used, [0, 70]);
        assert!(roster.observed().all(|(seen, _)| seen.watched <= roster.length()));
    }

    #[test]
    fn another_process_of_the_same_number_is_none() {
        let top = tempfile::tempdir().unwrap();
        let root = Root::at(top.path());
        write(top.path(), 7, 1, 100);
        let mut roster = Roster::of(&root, 7, false).unwrap();
        write(top.path(), 7, 2, 900);
        assert!(!roster.look(&root, Nanos::ZERO).unwrap().alive);
        assert_eq!(roster.observed().next().unwrap().0.cpu, Nanos::ZERO);
        fs::remove_dir_all(top.path().join("proc/7")).unwrap();
        assert!(!roster.look(&root, Nanos::ZERO).unwrap().alive);
    }
}
