//! Real-time priority for the calling thread, with the guards that keep it
//! from taking the machine down.

use std::marker::PhantomData;

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

use super::policy::{Policy, Priority, ThreadId, policy_of, set_policy};
use crate::error::{Error, Result};
use crate::root::Root;
use crate::units::Nanos;

/// The highest real-time priority that is given without `--force`. Above it
/// live the kernel's own migration and watchdog threads.
pub const HIGHEST_UNFORCED: u8 = 90;

/// Lets threads of this process become real-time, while it lives: the checks
/// have passed, and `RLIMIT_RTTIME` makes the kernel end the process if one of
/// them computes for too long without a sleep. Puts the limit back when
/// dropped, so it must outlive the [`RealtimeGuard`]s it gives out.
#[derive(Debug)]
pub struct Realtime {
    priority: Priority,
    limit_before: Rlimit,
}

impl Realtime {
    /// The longest stretch that a thread may compute at real-time priority
    /// without sleeping.
    pub const LONGEST_RUN: Nanos = Nanos::from_millis(1_000);

    /// Checks that `SCHED_FIFO` at `priority` is safe on this machine and
    /// limits what a thread can do with it. With `force`, priorities above
    /// [`HIGHEST_UNFORCED`] and a machine without real-time throttling are
    /// accepted.
    ///
    /// # Errors
    /// `Invalid` for a priority, `Permission` for a machine that needs `force`.
    pub fn prepare(root: &Root, priority: Priority, force: bool) -> Result<Self> {
        check(priority, force, throttling(root)?)?;
        let limit_before = getrlimit(Resource::Rttime);
        let micros = Self::LONGEST_RUN.get() / 1_000;
        let least = |limit: Option<u64>| limit.map_or(micros, |limit| limit.min(micros));
        let current = least(limit_before.current).min(least(limit_before.maximum));
        setrlimit(
            Resource::Rttime,
            Rlimit { current: Some(current), maximum: limit_before.maximum },
        )
        .map_err(|error| Error::syscall("setrlimit", "RLIMIT_RTTIME", error))?;
        Ok(Self { priority, limit_before })
    }

    /// Makes the calling thread `SCHED_FIFO` until the guard is dropped.
    ///
    /// # Errors
    /// `Permission` without the privilege.
    pub fn enter(&self) -> Result<RealtimeGuard<'_>> {
        let thread = ThreadId::current();
        let (policy, reset_on_fork) = policy_of(thread)?;
        set_policy(thread, Policy::Fifo(self.priority), true)?;
        Ok(RealtimeGuard {
            policy,
            reset_on_fork,
            _limited: PhantomData,
            _this_thread: PhantomData,
        })
    }
}

impl Drop for Realtime {
    fn drop(&mut self) {
        // Raising a soft limit up to the hard one is always allowed.
        let _cannot_fail = setrlimit(Resource::Rttime, self.limit_before);
    }
}

/// `RLIMIT_RTPRIO`, the highest real-time priority that threads of this
/// process may take without privileges; `None` is unlimited. See
/// `getrlimit(2)`.
pub fn rtprio_limit() -> Option<u64> {
    getrlimit(Resource::Rtprio).current
}

/// Puts the calling thread's former policy back when dropped.
#[derive(Debug)]
pub struct RealtimeGuard<'limit> {
    policy: Policy,
    reset_on_fork: bool,
    _limited: PhantomData<&'limit Realtime>,
    _this_thread: PhantomData<*const ()>,
}

impl Drop for RealtimeGuard<'_> {
    fn drop(&mut self) {
        // A live thread may always lower its own priority. SCHED_RESET_ON_FORK
        // can only be cleared with CAP_SYS_NICE; without it the flag stays,
        // which does no harm to a thread that is SCHED_OTHER again.
        let thread = ThreadId::current();
        if set_policy(thread, self.policy, self.reset_on_fork).is_err() {
            let _flag_stays = set_policy(thread, self.policy, true);
        }
    }
}

/// Whether the kernel keeps some CPU time back from real-time threads.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Throttling {
    On,
    Off,
}

fn throttling(root: &Root) -> Result<Throttling> {
    let path = "/proc/sys/kernel/sched_rt_runtime_us";
    Ok(match root.read_if_there(path)?.as_deref() {
        Some("-1") => Throttling::Off,
        _ => Throttling::On,
    })
}

fn check(priority: Priority, force: bool, throttling: Throttling) -> Result<()> {
    if force {
        return Ok(());
    }
    if priority.get() > HIGHEST_UNFORCED {
        return Err(Error::Invalid(format!(
            "real-time priority {} is above {HIGHEST_UNFORCED}, where the kernel's own threads \
             run; --force allows it",
            priority.get()
        )));
    }
    if throttling == Throttling::Off {
        return Err(Error::Permission {
            what: "SCHED_FIFO on a machine without real-time throttling \
                   (kernel.sched_rt_runtime_us = -1), where a busy thread would hang it,"
                .to_owned(),
            needs: "--force".to_owned(),
        });
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn priority(n: u8) -> Priority {
        Priority::new(n).unwrap()
    }

    #[test]
    fn high_priorities_and_missing_throttling_need_force() {
        assert!(check(priority(90), false, Throttling::On).is_ok());
        assert!(check(priority(91), false, Throttling::On).is_err());
        assert!(check(priority(10), false, Throttling::Off).is_err());
        assert!(check(priority(99), true, Throttling::Off).is_ok());
    }
}
