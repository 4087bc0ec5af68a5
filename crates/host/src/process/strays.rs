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

/// Changes the nice value of all threads of `process` that have the value `from`. Threads that end
/// meanwhile, or that may not be changed, keep it.
pub fn change_nice(process: u32, from: i32, to: i32) {
    for thread in threads::ids(&Root::system(), process).unwrap_or_default() {
        let Ok((Policy::Other(fair), reset_on_fork)) = policy_of(thread) else { continue };
        if fair.nice == from {
            let fair = Fair { nice: to, ..fair };
            let _has_ended = set_policy(thread, Policy::Other(fair), reset_on_fork);
        }
    }
}
