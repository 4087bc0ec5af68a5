//! A made-up machine for tests, whose scheduler notes what it is asked for.

use std::cell::RefCell;
use std::collections::HashMap;
use std::fs;
use std::path::PathBuf;

use unjank_host::sched::{Policy, RunLimit, SchedulingRights, ThreadId};
use unjank_host::thread_ledger::{Scheduler, ThreadState};
use unjank_host::threads::{self, Began, Thread};
use unjank_host::{Error, Result, Root};

use super::means::PolicySetter;
use super::rules::Rules;

pub(super) const OTHER: ThreadState =
    ThreadState { policy: Policy::other(0), reset_on_fork: false, nice: 0 };

/// Processes with one thread each.
#[derive(Debug)]
pub(super) struct Scripted {
    dir: tempfile::TempDir,
    pub(super) root: Root,
    /// The threads that are not [`OTHER`].
    states: RefCell<HashMap<ThreadId, ThreadState>>,
    /// The processes whose run limit was set, in this order.
    pub(super) limited: RefCell<Vec<u32>>,
}

impl Scripted {
    pub(super) fn new() -> Self {
        let dir = tempfile::tempdir().unwrap();
        let root = Root::at(dir.path());
        Self { dir, root, states: RefCell::default(), limited: RefCell::default() }
    }

    /// A directory for ledgers.
    pub(super) fn state_dir(&self) -> PathBuf {
        self.dir.path().join("state")
    }

    fn task(&self, process: u32) -> PathBuf {
        self.dir.path().join(format!("proc/{process}/task/{process}"))
    }

    pub(super) fn start(&self, process: u32, name: &str, began: u64) {
        let stat = format!(
            "{process} ({name}) S 1 7 7 0 -1 4194560 1 0 0 0 150 50 0 0 20 0 1 0 {began} 1 2 \
             18446744073709551615 1 1 0 0 0 0 0 0 0 0 0 0 17 1 0 0 0 0 0"
        );
        fs::create_dir_all(self.task(process)).unwrap();
        fs::write(self.task(process).join("stat"), stat).unwrap();
    }

    pub(super) fn set_children(&self, process: u32, children: &[u32]) {
        let words: Vec<String> = children.iter().map(ToString::to_string).collect();
        fs::write(self.task(process).join("children"), words.join(" ")).unwrap();
    }

    pub(super) fn end(&self, process: u32) {
        fs::remove_dir_all(self.dir.path().join(format!("proc/{process}"))).unwrap();
        self.states.borrow_mut().remove(&ThreadId(process));
    }

    pub(super) fn state(&self, thread: u32) -> ThreadState {
        self.states.borrow().get(&ThreadId(thread)).copied().unwrap_or(OTHER)
    }
}

impl Scheduler for Scripted {
    fn look(&self, process: u32, thread: ThreadId) -> Result<Option<(Began, ThreadState)>> {
        let seen = threads::look(&self.root, process, thread)?;
        Ok(seen.map(|seen| (seen.began, self.state(thread.0))))
    }

    fn state_of(&self, thread: &Thread) -> Result<Option<ThreadState>> {
        Ok(Some(self.state(thread.id.0)))
    }

    fn set(&self, thread: ThreadId, state: ThreadState) -> Result<()> {
        // As if the CPUs had no time left for it.
        if matches!(state.policy, Policy::Deadline { .. }) {
            return Err(Error::Busy("no time is left".to_owned()));
        }
        self.states.borrow_mut().insert(thread, state);
        Ok(())
    }

    fn run_limit(&self, _: u32) -> Result<RunLimit> {
        Ok(RunLimit { soft: None, hard: None })
    }

    fn set_run_limit(&self, process: u32, _: RunLimit) -> Result<()> {
        self.limited.borrow_mut().push(process);
        Ok(())
    }
}

/// The rules of a command line.
pub(super) fn rules(texts: &[&str]) -> Rules {
    let typed = texts.iter().map(|text| text.parse().unwrap()).collect();
    Rules::new(typed, None, None).unwrap()
}

pub(super) fn setter(machine: &Scripted, rights: SchedulingRights) -> PolicySetter<'_> {
    PolicySetter { scheduler: machine, rtkit: Err("none".to_owned()), rights }
}
