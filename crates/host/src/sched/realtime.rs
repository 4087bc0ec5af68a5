//! Real-time priority for the calling thread, with guards that keep it from
//! blocking the machine.

use std::marker::PhantomData;

use rustix::process::{Resource, getrlimit};

use super::attributes::set_policy;
use super::former::{FormerPolicy, FormerRunLimit};
use super::policy::{Policy, Priority, ThreadId};
use crate::error::{Error, Result};
use crate::root::Root;
use unjank_units::Nanos;

/// The highest real-time priority without `--force`. The kernel's own migration
/// and watchdog threads are above it.
pub const HIGHEST_UNFORCED: u8 = 90;

/// Permission for threads of this process to become real-time: the checks have
/// passed, and `RLIMIT_RTTIME` makes the kernel end the process if one of them
/// runs too long without sleeping. Restores the limit when dropped, so it must
/// outlive its [`RealtimeGuard`]s.
#[derive(Debug)]
pub struct Realtime {
    policy: Policy,
    _run_limit: FormerRunLimit,
}

impl Realtime {
    /// The longest time that a thread may run at real-time priority without
    /// sleeping.
    pub const LONGEST_RUN: Nanos = Nanos::from_millis(1_000);

    /// Checks that `SCHED_FIFO` at `priority` is safe on this machine, and sets
    /// the limit on running. With `force`, priorities above
    /// [`HIGHEST_UNFORCED`] and a machine without real-time throttling are
    /// accepted.
    ///
    /// # Errors
    /// `Invalid` for a priority, `Permission` for a machine that requires
    /// `force`.
    pub fn prepare(root: &Root, priority: Priority, force: bool) -> Result<Self> {
        Self::prepare_for(root, Policy::Fifo(priority), force)
    }

    /// The same for any real-time policy. With `SCHED_DEADLINE`, a thread is
    /// also limited to its own run time, which the kernel enforces.
    ///
    /// # Errors
    /// Errors of [`prepare`](Self::prepare), and `Invalid` for an ordinary
    /// policy.
    pub fn prepare_for(root: &Root, policy: Policy, force: bool) -> Result<Self> {
        if !policy.is_realtime() {
            return Err(Error::Invalid(format!("{policy} is not a real-time policy")));
        }
        check(policy, force, throttling(root)?)?;
        Ok(Self { policy, _run_limit: FormerRunLimit::lowered_to(Self::LONGEST_RUN)? })
    }

    /// Sets the policy of the calling thread until the guard is dropped.
    ///
    /// # Errors
    /// `Permission` without the privilege.
    pub fn enter(&self) -> Result<RealtimeGuard<'_>> {
        self.enter_as(self.policy)
    }

    /// The same with another policy: a priority at or below the prepared one,
    /// or another deadline.
    ///
    /// # Errors
    /// `Invalid` for a higher priority than the prepared one.
    pub fn enter_as(&self, wanted: Policy) -> Result<RealtimeGuard<'_>> {
        let covered = match (self.policy, wanted) {
            (Policy::Fifo(highest), Policy::Fifo(priority))
            | (Policy::RoundRobin(highest), Policy::RoundRobin(priority)) => priority <= highest,
            (Policy::Deadline { .. }, Policy::Deadline { .. }) => true,
            _ => false,
        };
        if !covered {
            return Err(Error::Invalid(format!("{wanted} is more than {} allows", self.policy)));
        }
        let former = FormerPolicy::of_this_thread()?;
        set_policy(ThreadId::current(), wanted, true)?;
        Ok(RealtimeGuard { _former: former, _limited: PhantomData })
    }
}

/// Checks that `policy` is safe on this machine. With `force`, every priority
/// and a machine without real-time throttling are accepted.
///
/// # Errors
/// As [`Realtime::prepare`].
pub fn check_policy(root: &Root, policy: Policy, force: bool) -> Result<()> {
    if policy.is_realtime() { check(policy, force, throttling(root)?) } else { Ok(()) }
}

/// Whether the kernel reserves CPU time for ordinary threads:
/// `sched_rt_runtime_us` in `sched(7)`.
///
/// # Errors
/// If the file exists but cannot be read.
pub fn is_throttled(root: &Root) -> Result<bool> {
    Ok(throttling(root)? == Throttling::On)
}

/// `RLIMIT_RTPRIO`, the highest real-time priority for threads of this process
/// without privileges; `None` is unlimited. See `getrlimit(2)`.
pub fn rtprio_limit() -> Option<u64> {
    getrlimit(Resource::Rtprio).current
}

/// Restores the calling thread's former policy when dropped.
#[derive(Debug)]
pub struct RealtimeGuard<'limit> {
    _former: FormerPolicy,
    _limited: PhantomData<&'limit Realtime>,
}

/// Whether the kernel reserves CPU time for ordinary threads.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Throttling {
    On,
    Off,
}

pub(super) fn throttling(root: &Root) -> Result<Throttling> {
    let path = "/proc/sys/kernel/sched_rt_runtime_us";
    Ok(match root.read_if_there(path)?.as_deref() {
        Some("-1") => Throttling::Off,
        _ => Throttling::On,
    })
}

fn check(policy: Policy, force: bool, throttling: Throttling) -> Result<()> {
    if force {
        return Ok(());
    }
    let (name, priority) = match policy {
        Policy::Fifo(priority) => ("SCHED_FIFO", priority.get()),
        Policy::RoundRobin(priority) => ("SCHED_RR", priority.get()),
        _ => ("SCHED_DEADLINE", 0),
    };
    if priority > HIGHEST_UNFORCED {
        return Err(Error::Invalid(format!(
            "real-time priority {priority} is above {HIGHEST_UNFORCED}, where the kernel's own \
             threads run; --force allows it"
        )));
    }
    needs_throttling(name, throttling, "--force")
}

/// Refuses `name` if a busy thread would hang the machine, and names the option
/// `force` that allows it.
pub(super) fn needs_throttling(name: &str, throttling: Throttling, force: &str) -> Result<()> {
    match throttling {
        Throttling::On => Ok(()),
        Throttling::Off => Err(Error::Permission {
            what: format!(
                "{name} on a machine without real-time throttling \
                 (kernel.sched_rt_runtime_us = -1), where a busy thread would hang it,"
            ),
            needs: force.to_owned(),
        }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn priority(n: u8) -> Policy {
        Policy::Fifo(Priority::new(n).unwrap())
    }

    #[test]
    fn high_priorities_and_missing_throttling_need_force() {
        assert!(check(priority(90), false, Throttling::On).is_ok());
        assert!(check(priority(91), false, Throttling::On).is_err());
        assert!(check(priority(10), false, Throttling::Off).is_err());
        assert!(check(priority(99), true, Throttling::Off).is_ok());
    }

    #[test]
    fn each_real_time_policy_has_its_checks() {
        let deadline = Policy::Deadline { runtime: 100_000, deadline: 500_000, period: 1_000_000 };
        assert!(check(deadline, false, Throttling::On).is_ok());
        let error = check(deadline, false, Throttling::Off).unwrap_err().to_string();
        assert!(error.starts_with("SCHED_DEADLINE on a machine without"), "{error}");
        let round_robin = Policy::RoundRobin(Priority::new(95).unwrap());
        assert!(check(round_robin, false, Throttling::On).is_err());
        let ordinary = Policy::other(0);
        let error = Realtime::prepare_for(&Root::system(), ordinary, false).unwrap_err();
        assert_eq!(error.to_string(), "other is not a real-time policy");
    }

    #[test]
    fn no_thread_enters_above_the_prepared_priority() {
        let run_limit = FormerRunLimit(getrlimit(Resource::Rttime));
        let realtime = Realtime { policy: priority(50), _run_limit: run_limit };
        let error = realtime.enter_as(priority(51)).unwrap_err();
        assert_eq!(error.to_string(), "fifo:51 is more than fifo:50 allows");
    }
}
