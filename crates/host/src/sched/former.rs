//! The policy of a thread and the run limit of its process, restored when dropped.

use std::marker::PhantomData;

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

use super::attributes::{policy_of, set_policy};
use super::policy::{Policy, ThreadId};
use crate::error::{Error, Result};
use unjank_units::Nanos;

/// The policy that the calling thread had. Dropping this restores it.
#[derive(Debug)]
pub(super) struct FormerPolicy {
    policy: Policy,
    reset_on_fork: bool,
    /// The policy belongs to a thread, so this must not move to another.
    of_this_thread: PhantomData<*const ()>,
}

impl FormerPolicy {
    /// The present policy of the calling thread.
    pub(super) fn of_this_thread() -> Result<Self> {
        let (policy, reset_on_fork) = policy_of(ThreadId::current())?;
        Ok(Self { policy, reset_on_fork, of_this_thread: PhantomData })
    }

    pub(super) fn get(&self) -> Policy {
        self.policy
    }
}

impl Drop for FormerPolicy {
    fn drop(&mut self) {
        // A live thread may always lower its own priority, and whether it may go back to its nice
        // value was checked before. SCHED_RESET_ON_FORK can only be cleared with CAP_SYS_NICE;
        // without it the flag stays, which is harmless for a thread that is SCHED_OTHER again.
        let thread = ThreadId::current();
        if set_policy(thread, self.policy, self.reset_on_fork).is_err() {
            let _flag_stays = set_policy(thread, self.policy, true);
        }
    }
}

/// `RLIMIT_RTTIME` that this process had. Dropping this restores it.
#[derive(Debug)]
pub(super) struct FormerRunLimit(pub(super) Rlimit);

impl FormerRunLimit {
    /// Lowers the limit to `longest` if it is higher.
    pub(super) fn lowered_to(longest: Nanos) -> Result<Self> {
        let before = getrlimit(Resource::Rttime);
        let micros = (longest.get() / 1_000).max(1);
        let least = |limit: Option<u64>| limit.map_or(micros, |limit| limit.min(micros));
        let current = least(before.current).min(least(before.maximum));
        setrlimit(Resource::Rttime, Rlimit { current: Some(current), maximum: before.maximum })
            .map_err(|error| Error::syscall("setrlimit", "RLIMIT_RTTIME", error))?;
        Ok(Self(before))
    }
}

impl Drop for FormerRunLimit {
    fn drop(&mut self) {
        // Raising a soft limit up to the hard one is always allowed.
        let _cannot_fail = setrlimit(Resource::Rttime, self.0);
    }
}
