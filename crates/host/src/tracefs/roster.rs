//! The names and the processes of all threads of a recording.

use std::collections::{BTreeSet, HashMap};

use foldhash::fast::RandomState;

use super::event::{EventKind, Task};
use super::moment::seconds;
use super::name::Comm;
use super::processes::{Processes, is_named};
use super::storage::StorageEvent;
use super::trace::Trace;
use crate::clock::Timestamp;
use crate::input::{Stop, Stopped};
use crate::sched::ThreadId;

/// The names and the processes of the threads of a recording, as far as it has them.
#[derive(Debug, Default)]
pub struct Roster {
    /// The last name of each thread, and when the trace has it.
    names: HashMap<ThreadId, (Timestamp, Comm), RandomState>,
    /// The process of each thread: its first thread, or the first one that is known of the same
    /// process.
    processes: HashMap<ThreadId, ThreadId, RandomState>,
    /// First threads of processes, as far as the recording says so.
    first: BTreeSet<ThreadId>,
    /// Names of processes, which have no limit of 15 bytes.
    long_names: HashMap<ThreadId, String, RandomState>,
}

/// The most processes that an error lists.
const LISTED: usize = 12;

impl Roster {
    /// The threads of a trace, with the processes that its file lists. Threads that the file does
    /// not list belong to the process of the thread that started them, if the trace shows that, or
    /// to the process that a transaction of binder was sent to.
    ///
    /// # Errors
    /// After a stop request.
    pub fn of(trace: &Trace, listed: &Processes, stop: &Stop) -> Result<Self, Stopped> {
        let mut roster = Self::default();
        for (&thread, &process) in &listed.of_threads {
            roster.processes.insert(thread, ThreadId(process));
            roster.first.insert(ThreadId(process));
        }
        for (&process, name) in &listed.names {
            roster.processes.insert(ThreadId(process), ThreadId(process));
            roster.first.insert(ThreadId(process));
            roster.long_names.insert(ThreadId(process), name.clone());
        }
        for (&thread, &name) in &trace.names {
            roster.names.insert(thread, (Timestamp::default(), name));
        }
        let mut sent: HashMap<u32, ThreadId, RandomState> = HashMap::default();
        let mut received = Vec::new();
        let mut started = Vec::new();
        for event in trace.cpus.iter().flat_map(|cpu| cpu.events.iter()) {
            if stop.is_requested() {
                return Err(Stopped);
            }
            match event.kind {
                EventKind::Switch { prev, next, .. } => {
                    roster.name(prev, event.at);
                    roster.name(next, event.at);
                }
                EventKind::Waking { task, .. } | EventKind::Wakeup { task, .. } => {
                    roster.name(task, event.at);
                }
                EventKind::Storage(StorageEvent::Started { thread, same_process: true }) => {
                    started.push((event.at, thread, event.current));
                }
                EventKind::Storage(StorageEvent::Executed { process, .. }) => {
                    roster.first.insert(process);
                }
                EventKind::BinderSent { transaction, process, .. } if process.0 != 0 => {
                    sent.insert(transaction, process);
                    roster.first.insert(process);
                }
                EventKind::BinderReceived { transaction } => {
                    received.push((event.current, transaction));
                }
                _ => {}
            }
        }
        for (thread, transaction) in received {
            if let Some(&process) = sent.get(&transaction) {
                roster.processes.entry(thread).or_insert(process);
            }
        }
        // Parents come before their children.
        started.sort_unstable_by_key(|(at, thread, _)| (*at, thread.0));
        for (_, thread, parent) in started {
            let process = roster.process(parent).unwrap_or(parent);
            roster.processes.entry(parent).or_insert(process);
            roster.processes.entry(thread).or_insert(process);
        }
        Ok(roster)
    }

    fn name(&mut self, task: Task, at: Timestamp) {
        if task.is_idle() || task.comm.as_bytes().is_empty() {
            return;
        }
        let known = self.names.entry(task.tid).or_insert((at, task.comm));
        if at >= known.0 {
            *known = (at, task.comm);
        }
    }

    /// The last name of a thread.
    pub fn name_of(&self, thread: ThreadId) -> Option<Comm> {
        self.names.get(&thread).map(|(_, name)| *name)
    }

    /// The process of a thread: its first thread, or the first one that is known of the same
    /// process.
    pub fn process(&self, thread: ThreadId) -> Option<ThreadId> {
        self.processes.get(&thread).copied()
    }

    /// `RenderThread[301]`, or `thread 301`.
    pub fn thread_label(&self, thread: ThreadId) -> String {
        match self.name_of(thread) {
            Some(name) => format!("{name}[{}]", thread.0),
            None => thread.to_string(),
        }
    }

    /// `com.example.calendar[300]`; `None` if the process is not known for sure.
    pub fn process_label(&self, thread: ThreadId) -> Option<String> {
        let process = self.process(thread).unwrap_or(thread);
        if !self.first.contains(&process) {
            return None;
        }
        Some(match self.process_name(process) {
            Some(name) => format!("{name}[{}]", process.0),
            None => format!("process {}", process.0),
        })
    }

    /// The options of `unjank why` that choose a thread and a window.
    pub fn why_options(&self, thread: ThreadId, from: Timestamp, to: Timestamp) -> String {
        // A process whose first thread never ran is not known there.
        let process = self.process(thread).filter(|process| self.names.contains_key(process));
        let process = process.unwrap_or(thread).0;
        let [since, until] = [from, to].map(seconds);
        let [since, until] = [&since, &until].map(|text| text.trim_end_matches(" s"));
        format!("--process {process} --thread {} --since {since} --until {until}", thread.0)
    }

    fn process_name(&self, process: ThreadId) -> Option<String> {
        let long = self.long_names.get(&process).filter(|name| !name.is_empty());
        long.cloned().or_else(|| self.name_of(process).map(|name| name.to_string()))
    }

    /// The threads of the processes with this number or name: that of the command line, the last part
    /// of its path, or that of the first thread. A thread of unknown process is taken for a process.
    ///
    /// # Errors
    /// A message for the user: there is no such process.
    pub fn of_process(&self, wanted: &str) -> Result<BTreeSet<ThreadId>, String> {
        let number = wanted.parse().ok().map(ThreadId);
        let is_wanted = |process: ThreadId| {
            if let Some(number) = number {
                return process == number;
            }
            let listed = self.long_names.get(&process);
            let first = self.name_of(process);
            listed.is_some_and(|listed| is_named(listed, wanted))
                || first.is_some_and(|name| name.as_bytes() == wanted.as_bytes())
        };
        let threads = self.names.keys().chain(self.processes.keys());
        let found = threads.filter(|thread| is_wanted(self.process(**thread).unwrap_or(**thread)));
        let found: BTreeSet<ThreadId> = found.copied().collect();
        if found.is_empty() {
            return Err(match number {
                Some(_) => format!("the recording has no process {wanted}; it has {}", self.list()),
                None => {
                    format!("the recording has no process called {wanted}; it has {}", self.list())
                }
            });
        }
        Ok(found)
    }

    /// `system_server[100], com.example.calendar[300] and 3 others`.
    fn list(&self) -> String {
        let threads = self.names.keys().chain(self.processes.keys());
        let processes: BTreeSet<ThreadId> =
            threads.map(|thread| self.process(*thread).unwrap_or(*thread)).collect();
        let label = |process: &ThreadId| match self.process_name(*process) {
            Some(name) => format!("{name}[{}]", process.0),
            None => process.0.to_string(),
        };
        let listed: Vec<String> = processes.iter().take(LISTED).map(label).collect();
        let listed = listed.join(", ");
        match processes.len().saturating_sub(LISTED) {
            0 => listed,
            1 => format!("{listed} and another"),
            others => format!("{listed} and {others} others"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::event::Context;
    use super::super::script::Script;
    use super::*;

    fn roster() -> Roster {
        let started = |thread| {
            let thread = ThreadId(thread);
            EventKind::Storage(StorageEvent::Started { thread, same_process: true })
        };
        let script = Script::new()
            .runs(0, 0, 0, 7)
            .happens(0, 10, Context::Thread, started(8))
            .runs(0, 20, 7, 8)
            .happens(0, 30, Context::Thread, started(9))
            .runs(1, 40, 0, 9)
            .runs(2, 50, 0, 21);
        let executed = StorageEvent::Executed {
            process: ThreadId(5),
            before: ThreadId(5),
            program: "app".into(),
        };
        let script =
            script.runs(2, 60, 21, 5).happens(2, 70, Context::Thread, EventKind::Storage(executed));
        let mut listed = Processes::default();
        listed.names.insert(20, "com.example.calendar".to_owned());
        listed.names.insert(5, "/opt/browser".to_owned());
        listed.of_threads.insert(ThreadId(21), 20);
        Roster::of(&script.trace(), &listed, &Stop::default()).unwrap()
    }

    #[test]
    fn a_thread_belongs_to_the_process_of_the_thread_that_started_it() {
        let roster = roster();
        assert_eq!(
            [8, 9, 21].map(|it| roster.process(ThreadId(it)).map(|it| it.0)),
            [Some(7), Some(7), Some(20)]
        );
        assert_eq!(roster.thread_label(ThreadId(9)), "hog[9]");
        assert_eq!(roster.process_label(ThreadId(9)), None, "thread 7 may not be the first");
        assert_eq!(roster.process_label(ThreadId(5)).as_deref(), Some("/opt/browser[5]"));
        assert_eq!(roster.process_label(ThreadId(21)).unwrap(), "com.example.calendar[20]");
        assert_eq!(roster.thread_label(ThreadId(99)), "thread 99");
    }

    #[test]
    fn a_process_is_found_by_its_number_or_its_name() {
        let roster = roster();
        let threads = |wanted: &str| {
            roster.of_process(wanted).map(|all| all.iter().map(|it| it.0).collect::<Vec<_>>())
        };
        assert_eq!(threads("victim"), Ok(vec![7, 8, 9]));
        assert_eq!(threads("7"), Ok(vec![7, 8, 9]));
        assert_eq!(threads("com.example.calendar"), Ok(vec![20, 21]));
        for name in ["/opt/browser", "browser", "t5"] {
            assert_eq!(threads(name), Ok(vec![5]), "{name}");
        }
        let missing = "the recording has no process called nobody; it has /opt/browser[5], victim[7], \
                       com.example.calendar[20]";
        assert_eq!(threads("nobody"), Err(missing.to_owned()));
        assert!(threads("99").unwrap_err().starts_with("the recording has no process 99; "));
    }
}
