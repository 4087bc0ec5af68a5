//! Threads that appear or are renamed later.

use std::collections::BTreeSet;
use std::os::fd::{AsFd as _, BorrowedFd};

use unjank_host::process::connector::{ProcConnector, ProcessEvent};
use unjank_host::sched::ThreadId;
use unjank_host::thread_ledger::ThreadReport;
use unjank_host::threads;
use unjank_host::{Error, Nanos, Result, Root, Timestamp, process::pid};

use super::busy::{Busy, Watched};
use super::change::Changer;
use super::walk::{Changed, Failed, Walk};

/// Time to the next scan after one that found something.
const SOON: Nanos = Nanos::from_millis(1);
/// The longest time between two scans if the proc connector reports new threads.
const RARELY: Nanos = Nanos::from_millis(250);
/// The same without the proc connector.
const OFTEN: Nanos = Nanos::from_millis(20);
/// Scans take at most one part in this many of the time.
const SHARE: u64 = 20;

/// What [`Follower::step`] reports.
#[derive(Debug)]
pub enum Event {
    /// A thread got another policy.
    Changed(Changed),
    /// A thread could not be changed.
    Failed(Failed),
    /// The run limit of a process could not be set.
    Unlimited {
        /// Id of the process.
        process: u32,
        /// Why `RLIMIT_RTTIME` could not be set.
        error: Error,
    },
    /// A thread computed for too long without a sleep, and is ordinary again.
    Demoted {
        /// CPU time that it used without a sleep, at least.
        busy: Nanos,
        /// Its old and new policy.
        report: ThreadReport,
    },
}

/// The processes that a session follows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Scope {
    /// One process.
    Process,
    /// One process and its descendants.
    Family,
}

/// Follows a process, and depending on [`Scope`] its descendants.
#[derive(Debug)]
pub struct Follower<'a> {
    root: &'a Root,
    changer: Changer<'a>,
    scope: Scope,
    processes: BTreeSet<u32>,
    events: Option<ProcConnector>,
    busy: Option<Busy>,
    interval: Nanos,
    look_at: Timestamp,
    busy_at: Timestamp,
}

impl<'a> Follower<'a> {
    /// Follows `process` with `changer`. `events` must deliver
    /// [`THREADS`](unjank_host::process::connector::EventKinds::THREADS); without
    /// a connector, threads are found by periodic scans. Threads that compute for
    /// longer than `max_busy` without a sleep are put back.
    pub fn new(
        root: &'a Root,
        changer: Changer<'a>,
        process: u32,
        scope: Scope,
        events: Option<ProcConnector>,
        max_busy: Option<Nanos>,
    ) -> Self {
        let now = Timestamp::now();
        Self {
            root,
            changer,
            scope,
            processes: BTreeSet::from([process]),
            events,
            busy: max_busy.map(Busy::new),
            interval: SOON,
            look_at: now,
            busy_at: now,
        }
    }

    /// Becomes readable when the proc connector has events.
    pub fn as_fd(&self) -> Option<BorrowedFd<'_>> {
        self.events.as_ref().map(ProcConnector::as_fd)
    }

    /// The moment by which [`step`](Self::step) must be called.
    pub fn wake_at(&self) -> Timestamp {
        if self.busy.is_some() { self.look_at.min(self.busy_at) } else { self.look_at }
    }

    /// Whether all processes have ended.
    pub fn is_over(&self) -> bool {
        self.processes.iter().all(|&process| pid::Waits::of(self.root, process).is_none())
    }

    /// Reads events, and scans and checks threads where that is due.
    ///
    /// # Errors
    /// The ledger cannot be written, or the proc connector failed.
    pub fn step(&mut self) -> Result<Vec<Event>> {
        let mut walk = Walk::default();
        self.hear(&mut walk)?;
        let now = Timestamp::now();
        if self.look_at <= now {
            self.look(now, &mut walk)?;
        }
        let mut events: Vec<Event> = walk.changed.into_iter().map(Event::Changed).collect();
        events.extend(walk.failed.into_iter().map(Event::Failed));
        let unlimited = walk.unlimited.into_iter();
        events.extend(unlimited.map(|(process, error)| Event::Unlimited { process, error }));
        if self.busy_at <= now {
            self.watch(now, &mut events);
        }
        Ok(events)
    }

    /// Handles the threads that the proc connector reports.
    fn hear(&mut self, walk: &mut Walk) -> Result<()> {
        let Some(mut events) = self.events.take() else { return Ok(()) };
        let mut named: BTreeSet<(u32, ThreadId)> = BTreeSet::new();
        let mut more = true;
        while more {
            let mut lives = Vec::new();
            let mut all = Vec::new();
            more = events.read_threads(
                |event| lives.push(event),
                |process, thread| {
                    all.push((process, thread));
                },
            )?;
            for event in lives {
                named.extend(self.hear_of_process(event)?);
            }
            named.extend(all);
        }
        self.events = Some(events);
        for (process, thread) in named {
            if self.processes.contains(&process) {
                self.changer.look(process, &[thread], walk)?;
            }
        }
        Ok(())
    }

    /// Handles an event of a process. Returns its first thread if that is to be looked at.
    fn hear_of_process(&mut self, event: ProcessEvent) -> Result<Option<(u32, ThreadId)>> {
        let first = |process: u32| Some((process, ThreadId(process)));
        Ok(match event {
            ProcessEvent::Fork { parent, child, .. } => {
                let is_new = self.scope == Scope::Family
                    && self.processes.contains(&parent)
                    && self.processes.insert(child);
                first(child).filter(|_| is_new)
            }
            ProcessEvent::Exec { process, .. } => first(process),
            ProcessEvent::Exit { process, .. } => {
                if self.processes.len() > 1 && self.processes.remove(&process) {
                    // At once, because a new process may get its number.
                    self.changer.forget(|other| other == process)?;
                }
                None
            }
        })
    }

    /// Scans all threads of all processes.
    fn look(&mut self, began: Timestamp, walk: &mut Walk) -> Result<()> {
        let seen = walk.seen;
        let mut left: Vec<u32> = self.processes.iter().copied().collect();
        while let Some(process) = left.pop() {
            self.changer.walk(process, true, walk)?;
            let children = match self.scope {
                Scope::Family => pid::children(self.root, process),
                Scope::Process => Vec::new(),
            };
            for child in children {
                if self.processes.insert(child) {
                    left.push(child);
                }
            }
        }
        self.forget_ended()?;
        let now = Timestamp::now();
        let longest = if self.events.is_some() { RARELY } else { OFTEN };
        self.interval = if walk.seen > seen { SOON } else { self.interval.times(2).min(longest) };
        // Thousands of threads are scanned less often.
        let fair = now.since(began).times(SHARE);
        self.look_at = now + self.interval.max(fair);
        Ok(())
    }

    /// Forgets the processes that have ended, except the last one, with which the session ends.
    fn forget_ended(&mut self) -> Result<()> {
        let lives = |process: &u32| self.root.exists(format!("/proc/{process}"));
        let (live, ended): (BTreeSet<u32>, BTreeSet<u32>) =
            self.processes.iter().copied().partition(lives);
        if live.is_empty() || ended.is_empty() {
            return Ok(());
        }
        self.processes = live;
        self.changer.forget(|process| ended.contains(&process))
    }

    /// Demotes real-time threads that never sleep.
    fn watch(&mut self, now: Timestamp, events: &mut Vec<Event>) {
        let Some(busy) = &mut self.busy else { return };
        self.busy_at = now + busy.interval();
        for (process, thread) in self.changer.realtime() {
            let cpu_time = threads::cpu_time(self.root, process, thread);
            let status = threads::status(self.root, process, thread);
            let Some((cpu_time, status)) = cpu_time.zip(status) else {
                busy.forget(thread);
                continue;
            };
            let watched = Watched { cpu_time, sleeps: status.sleeps };
            if let Some(length) = busy.look(thread, watched) {
                busy.forget(thread);
                if let Some(report) = self.changer.give_up(thread) {
                    events.push(Event::Demoted { busy: length, report });
                }
            }
        }
    }

    /// Ends the session and puts back the threads that still live.
    pub fn finish(self) -> Vec<ThreadReport> {
        self.changer.finish()
    }

    /// Patterns that no thread has matched so far.
    pub fn unmatched(&self) -> Vec<String> {
        self.changer.unmatched()
    }
}

#[cfg(test)]
mod tests {
    use unjank_host::sched::SchedulingRights;

    use super::super::Options;
    use super::super::scripted::{Scripted, rules, setter};
    use super::*;

    #[test]
    fn a_process_that_has_ended_is_forgotten_and_its_number_is_limited_anew() {
        let (machine, rules) = (Scripted::new(), rules(&["work=fifo:5"]));
        let setter = setter(&machine, SchedulingRights::All);
        let options = Options::new(Nanos::from_millis(1_000), false, true);
        let place = machine.state_dir();
        let changer =
            Changer::begin(&machine.root, &place, None, &rules, &setter, options, None).unwrap();
        machine.start(100, "server", 1);
        let mut follower = Follower::new(&machine.root, changer, 100, Scope::Family, None, None);
        // The server starts one worker at a time. Its end is heard of, or seen at the next look.
        for (began, child, is_heard_of) in
            [(2, 101, true), (3, 101, true), (4, 102, false), (5, 101, false), (6, 102, true)]
        {
            machine.start(child, "work", began);
            machine.set_children(100, &[child]);
            let mut walk = Walk::default();
            follower.look(Timestamp::now(), &mut walk).unwrap();
            assert_eq!(walk.changed.len(), 1);
            assert_eq!(follower.changer.realtime(), [(child, ThreadId(child))]);
            machine.end(child);
            machine.set_children(100, &[]);
            if is_heard_of {
                let event = ProcessEvent::Exit { process: child, at: Timestamp::now() };
                assert_eq!(follower.hear_of_process(event).unwrap(), None);
            } else {
                follower.look(Timestamp::now(), &mut walk).unwrap();
            }
            assert_eq!(follower.changer.realtime(), []);
        }
        assert_eq!(*machine.limited.borrow(), [101, 101, 102, 101, 102]);
        assert_eq!(follower.finish(), []);
    }
}
