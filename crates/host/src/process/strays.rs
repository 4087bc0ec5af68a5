//! Strays: descendants of a program that left its process group, as daemons do.

use std::collections::BTreeSet;

use rustix::process::{Pid, WaitId, WaitIdOptions, getpid, set_child_subreaper, waitid};

use unjank_units::Nanos;

use super::pid::{self, Waits};
use super::send_signal;
use crate::clock::Timestamp;
use crate::error::{Error, Result};
use crate::root::Root;
use crate::sched::{Fair, Policy, policy_of, set_policy};
use crate::threads;

/// The interval of checks whether processes that were asked to end have ended.
const LOOK: Nanos = Nanos::from_millis(2);
/// How long killed processes may take to end: one that waits for a device cannot be killed.
const KILLED: Nanos = Nanos::from_millis(1_000);

/// Finds processes that come after its creation and do not end with the program that starts them.
#[derive(Debug)]
pub struct Strays {
    before: BTreeSet<u32>,
}

impl Strays {
    /// From now on, descendants whose parents end become children of this process
    /// (`PR_SET_CHILD_SUBREAPER` of `prctl(2)`), for the rest of its life.
    ///
    /// # Errors
    /// The kernel is older than Linux 3.4.
    pub fn watch() -> Result<Self> {
        set_child_subreaper(Some(getpid()))
            .map_err(|error| Error::syscall("prctl", "PR_SET_CHILD_SUBREAPER", error))?;
        let before = pid::children(&Root::system(), std::process::id()).into_iter().collect();
        Ok(Self { before })
    }

    /// Whether a process that came since runs, other than `program`, whose descendants they are.
    pub fn any_runs(&self, program: u32) -> bool {
        let root = Root::system();
        self.newcomers(&root).any(|child| child != program && Waits::of(&root, child).is_some())
    }

    /// Asks the processes that came since to end (SIGTERM), and kills (SIGKILL) those that still
    /// run after `grace`; whether there were any. To be called after the end of the program itself.
    pub fn end(&self, grace: Nanos) -> bool {
        let end = Timestamp::now() + grace;
        let (mut asked, mut was_killed) = (BTreeSet::new(), false);
        loop {
            let left = self.left();
            if left.is_empty() {
                return was_killed;
            }
            let is_over = Timestamp::now() >= end;
            was_killed |= is_over;
            for process in left {
                // One that is asked to end may start another meanwhile.
                if asked.insert(process) {
                    let _has_ended = send_signal(process, libc::SIGTERM);
                }
                if is_over {
                    let _has_ended = send_signal(process, libc::SIGKILL);
                }
            }
            if is_over && Timestamp::now() >= end + KILLED {
                return true;
            }
            (Timestamp::now() + LOOK).sleep_until();
        }
    }

    /// The processes that came since and still run, with their descendants. Those that have ended
    /// are reaped: this process must have started no other children since.
    pub fn left(&self) -> Vec<u32> {
        let root = Root::system();
        let (alive, ended): (Vec<u32>, Vec<u32>) =
            self.newcomers(&root).partition(|child| Waits::of(&root, *child).is_some());
        for child in ended.into_iter().filter_map(|it| Pid::from_raw(i32::try_from(it).ok()?)) {
            let _is_gone =
                waitid(WaitId::Pid(child), WaitIdOptions::EXITED | WaitIdOptions::NOHANG);
        }
        let tree = |child: u32| pid::tree(&root, child, 0);
        alive.into_iter().flat_map(tree).filter(|it| Waits::of(&root, *it).is_some()).collect()
    }

    /// The children of this process that it did not have before.
    fn newcomers(&self, root: &Root) -> impl Iterator<Item = u32> + use<'_> {
        let children = pid::children(root, std::process::id()).into_iter();
        children.filter(|child| !self.before.contains(child))
    }
}

/// Gives all threads of `process` that have the policy `from` the policy `to`. Of ordinary policies,
/// only nice values count. Threads that end meanwhile, or that may not be changed, keep theirs.
pub fn change_policy(process: u32, from: Policy, to: Policy) {
    for thread in threads::ids(&Root::system(), process).unwrap_or_default() {
        let Ok((now, reset_on_fork)) = policy_of(thread) else { continue };
        if let Some(policy) = changed(now, from, to) {
            let _has_ended = set_policy(thread, policy, reset_on_fork);
        }
    }
}

/// The new policy of a thread; `None` if it has another one than `from`.
fn changed(now: Policy, from: Policy, to: Policy) -> Option<Policy> {
    match (now, from, to) {
        (Policy::Other(fair), Policy::Other(from), Policy::Other(to)) => {
            (fair.nice == from.nice).then_some(Policy::Other(Fair { nice: to.nice, ..fair }))
        }
        _ => (now == from).then_some(to),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_a_program_inherited_is_changed_back() {
        let policy = |text: &str| text.parse::<Policy>().unwrap();
        let back = |now, from, to| changed(policy(now), policy(from), policy(to));
        assert_eq!(back("fifo:10", "fifo:10", "other:5"), Some(policy("other:5")));
        assert_eq!(back("fifo:11", "fifo:10", "other"), None);
        assert_eq!(back("other", "fifo:10", "other"), None);
        assert_eq!(back("other:-7/1ms", "other:-7", "other:3"), Some(policy("other:3/1ms")));
        assert_eq!(back("other:-6", "other:-7", "other:3"), None);
    }
}
