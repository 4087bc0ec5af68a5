//! Strays: descendants of a program that left its process group, as daemons do.

use std::collections::BTreeSet;

use rustix::process::{Pid, WaitId, WaitIdOptions, getpid, set_child_subreaper, waitid};

use super::pid::{self, Waits};
use crate::error::{Error, Result};
use crate::root::Root;
use crate::sched::{Fair, Policy, policy_of, set_policy};
use crate::threads;

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

    /// The processes that came since and still run, with their descendants. Those that have ended
    /// are reaped: this process must have started no other children since.
    pub fn left(&self) -> Vec<u32> {
        let root = Root::system();
        let new = pid::children(&root, std::process::id()).into_iter();
        let new = new.filter(|child| !self.before.contains(child));
        let (alive, ended): (Vec<u32>, Vec<u32>) =
            new.partition(|child| Waits::of(&root, *child).is_some());
        for child in ended.into_iter().filter_map(|it| Pid::from_raw(i32::try_from(it).ok()?)) {
            let _is_gone =
                waitid(WaitId::Pid(child), WaitIdOptions::EXITED | WaitIdOptions::NOHANG);
        }
        let tree = |child: u32| pid::tree(&root, child, 0);
        alive.into_iter().flat_map(tree).filter(|it| Waits::of(&root, *it).is_some()).collect()
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
