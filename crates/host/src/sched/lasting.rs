//! Real-time priority without a guard, for programs that manage their own threads: for any thread
//! by its id, at any priority. As with the guard, a machine without real-time throttling needs
//! `force`, and `RLIMIT_RTTIME` is lowered.

use std::mem::ManuallyDrop;

use rustix::process::{Pid, getpriority_process};

use super::attributes::{policy_of, set_policy};
use super::former::FormerRunLimit;
use super::policy::{Policy, Priority, ThreadId};
use super::realtime::{needs_throttling, throttling};
use crate::error::Result;
use crate::root::Root;
use unjank_units::Nanos;

/// The parameters of [`give_realtime`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Grant {
    /// The priority of `SCHED_FIFO`.
    pub priority: Priority,
    /// The longest time that a real-time thread of this process may run without
    /// sleeping before the kernel ends the process (`RLIMIT_RTTIME`).
    pub longest_run: Nanos,
    /// Whether a machine without real-time throttling is accepted.
    pub force: bool,
}

/// Makes a thread of this process `SCHED_FIFO`, until [`take_realtime`]. If
/// `RLIMIT_RTTIME` is higher than `longest_run`, it is first lowered to it, and
/// stays so unless the thread's policy cannot be set. Children of the thread begin as `SCHED_OTHER`.
///
/// # Errors
/// `Permission` without the privilege, or without throttling; not found if the
/// thread does not exist.
pub fn give_realtime(root: &Root, thread: ThreadId, grant: Grant) -> Result<()> {
    if !grant.force {
        needs_throttling("SCHED_FIFO", throttling(root)?, "throttling, or force")?;
    }
    let former = FormerRunLimit::lowered_to(grant.longest_run)?;
    set_policy(thread, Policy::Fifo(grant.priority), true)?;
    let _stays_lowered = ManuallyDrop::new(former);
    Ok(())
}

/// Makes a thread `SCHED_OTHER`, with its nice value. Without `CAP_SYS_NICE`,
/// `SCHED_RESET_ON_FORK` stays, which is harmless.
///
/// # Errors
/// Not found if the thread does not exist.
pub fn take_realtime(thread: ThreadId) -> Result<()> {
    let (policy, reset_on_fork) = policy_of(thread)?;
    if matches!(policy, Policy::Other(_)) {
        return Ok(());
    }
    // On Linux each thread has its own nice value, despite POSIX, and keeps it
    // while it is real-time.
    let nice = i32::try_from(thread.0)
        .ok()
        .and_then(Pid::from_raw)
        .and_then(|pid| getpriority_process(Some(pid)).ok())
        .unwrap_or(0);
    let ordinary = Policy::other(nice);
    set_policy(thread, ordinary, false).or_else(|_| set_policy(thread, ordinary, reset_on_fork))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn grant(force: bool) -> Grant {
        let priority = Priority::new(10).unwrap();
        Grant { priority, longest_run: Nanos::from_millis(1_000), force }
    }

    #[test]
    fn without_throttling_it_needs_force() {
        let machine = tempfile::tempdir().unwrap();
        let file = machine.path().join("proc/sys/kernel/sched_rt_runtime_us");
        std::fs::create_dir_all(file.parent().unwrap()).unwrap();
        std::fs::write(&file, "-1\n").unwrap();
        let root = Root::at(machine.path());
        let error = give_realtime(&root, ThreadId::current(), grant(false)).unwrap_err();
        assert!(error.to_string().contains("sched_rt_runtime_us"), "{error}");
    }

    #[test]
    fn a_thread_keeps_its_nice_value() {
        let thread = ThreadId::current();
        match give_realtime(&Root::system(), thread, grant(false)) {
            Ok(()) => {
                let (policy, reset) = policy_of(thread).unwrap();
                assert_eq!((policy.to_string().as_str(), reset), ("fifo:10", true));
            }
            Err(error) => assert!(error.to_string().contains("CAP_SYS_NICE"), "{error}"),
        }
        take_realtime(thread).unwrap();
        assert!(matches!(policy_of(thread).unwrap().0, Policy::Other(_)));
    }

    #[test]
    fn a_missing_thread_is_not_found() {
        assert!(take_realtime(ThreadId(u32::MAX >> 1)).unwrap_err().is_not_found());
    }
}
