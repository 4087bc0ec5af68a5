//! The kernel's scheduler, or a test's.

use std::fmt::Debug;

use super::entry::ThreadState;
use crate::error::Result;
use crate::root::Root;
use crate::sched::{Policy, RunLimit, ThreadId, policy_of, run_limit, set_policy, set_run_limit};
use crate::threads::{self, Began, Thread};

/// Reads and changes the scheduling of threads.
pub trait Scheduler: Debug {
    /// The start time and state of a thread of `process`; `None` if it has
    /// ended.
    ///
    /// # Errors
    /// A policy that unjank does not know.
    fn look(&self, process: u32, thread: ThreadId) -> Result<Option<(Began, ThreadState)>>;

    /// The state of a thread that was just looked at.
    ///
    /// # Errors
    /// As [`look`](Self::look).
    fn state_of(&self, thread: &Thread) -> Result<Option<ThreadState>>;

    /// Gives a thread another state.
    ///
    /// # Errors
    /// `Permission`, or the thread has ended (`is_not_found`).
    fn set(&self, thread: ThreadId, state: ThreadState) -> Result<()>;

    /// `RLIMIT_RTTIME` of `process`.
    ///
    /// # Errors
    /// It has ended, or belongs to another user.
    fn run_limit(&self, process: u32) -> Result<RunLimit>;

    /// Gives `process` another `RLIMIT_RTTIME`.
    ///
    /// # Errors
    /// As [`run_limit`](Self::run_limit).
    fn set_run_limit(&self, process: u32, limit: RunLimit) -> Result<()>;
}

/// The scheduler of the running machine.
#[derive(Debug, Clone)]
pub struct Kernel(Root);

impl Kernel {
    /// Reads threads from this machine's `/proc`.
    pub fn new() -> Self {
        Self(Root::system())
    }
}

impl Default for Kernel {
    fn default() -> Self {
        Self::new()
    }
}

impl Scheduler for Kernel {
    fn look(&self, process: u32, thread: ThreadId) -> Result<Option<(Began, ThreadState)>> {
        let Some(seen) = threads::look(&self.0, process, thread)? else { return Ok(None) };
        Ok(self.state_of(&seen)?.map(|state| (seen.began, state)))
    }

    fn state_of(&self, thread: &Thread) -> Result<Option<ThreadState>> {
        match policy_of(thread.id) {
            Ok((policy, reset_on_fork)) => {
                Ok(Some(ThreadState { policy, reset_on_fork, nice: thread.nice }))
            }
            Err(error) if error.is_not_found() => Ok(None),
            Err(error) => Err(error),
        }
    }

    fn set(&self, thread: ThreadId, state: ThreadState) -> Result<()> {
        // Only a thread of the fair class accepts a nice value.
        if state.policy.fair().is_none()
            && let Ok((policy, reset)) = policy_of(thread)
            && policy.fair().is_some_and(|fair| fair.nice != state.nice)
        {
            set_policy(thread, Policy::other(state.nice), reset)?;
        }
        set_policy(thread, state.policy, state.reset_on_fork)
    }

    fn run_limit(&self, process: u32) -> Result<RunLimit> {
        run_limit(process)
    }

    fn set_run_limit(&self, process: u32, limit: RunLimit) -> Result<()> {
        set_run_limit(process, limit)
    }
}
