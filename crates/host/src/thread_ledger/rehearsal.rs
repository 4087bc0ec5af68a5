//! A scheduler that changes nothing: a dry run sees what it would have changed.

use std::cell::RefCell;
use std::collections::BTreeMap;

use super::entry::ThreadState;
use super::scheduler::Scheduler;
use crate::error::Result;
use crate::sched::{RunLimit, ThreadId};
use crate::threads::{Began, Thread};

/// The threads of another scheduler, and the changes that a dry run would have made to them.
#[derive(Debug)]
pub(super) struct Rehearsal<'a> {
    real: &'a dyn Scheduler,
    states: RefCell<BTreeMap<ThreadId, ThreadState>>,
    limits: RefCell<BTreeMap<u32, RunLimit>>,
}

impl<'a> Rehearsal<'a> {
    pub(super) fn of(real: &'a dyn Scheduler) -> Self {
        Self { real, states: RefCell::default(), limits: RefCell::default() }
    }

    fn rehearsed(&self, thread: ThreadId, now: ThreadState) -> ThreadState {
        self.states.borrow().get(&thread).copied().unwrap_or(now)
    }
}

impl Scheduler for Rehearsal<'_> {
    fn look(&self, process: u32, thread: ThreadId) -> Result<Option<(Began, ThreadState)>> {
        let seen = self.real.look(process, thread)?;
        Ok(seen.map(|(began, now)| (began, self.rehearsed(thread, now))))
    }

    fn state_of(&self, thread: &Thread) -> Result<Option<ThreadState>> {
        let seen = self.real.state_of(thread)?;
        Ok(seen.map(|now| self.rehearsed(thread.id, now)))
    }

    fn set(&self, thread: ThreadId, state: ThreadState) -> Result<()> {
        self.states.borrow_mut().insert(thread, state);
        Ok(())
    }

    fn run_limit(&self, process: u32) -> Result<RunLimit> {
        let now = self.real.run_limit(process)?;
        Ok(self.limits.borrow().get(&process).copied().unwrap_or(now))
    }

    fn set_run_limit(&self, process: u32, limit: RunLimit) -> Result<()> {
        self.limits.borrow_mut().insert(process, limit);
        Ok(())
    }
}
