//! The nice value that programs inherit from the thread that starts them.

use std::marker::PhantomData;

use super::attributes::{policy_of, set_policy};
use super::fair::Fair;
use super::policy::{Policy, ThreadId};
use super::run_limit::best_nice;
use crate::error::{Error, Result};
use crate::process::is_root;

/// Gives the calling thread another nice value, which processes inherit from it
/// (`setpriority(2)`). Restores its former value when dropped.
#[derive(Debug)]
pub struct NiceGuard {
    before: Policy,
    reset_on_fork: bool,
    /// The value belongs to a thread, so this must not move to another.
    of_this_thread: PhantomData<*const ()>,
}

impl NiceGuard {
    /// Sets the nice value, from −20 to 19.
    ///
    /// # Errors
    /// `Permission` without the privilege to set it, or to restore the former value;
    /// `Invalid` if the calling thread does not have an ordinary policy.
    pub fn new(nice: i32) -> Result<Self> {
        let thread = ThreadId::current();
        let (before, reset_on_fork) = policy_of(thread)?;
        let Policy::Other(fair) = before else {
            return Err(Error::Invalid(format!(
                "a thread with the policy {before} has no nice value"
            )));
        };
        if nice > fair.nice && !is_root() && best_nice(std::process::id())? > fair.nice {
            return Err(Error::Permission {
                what: format!("going back from nice value {nice} to {}", fair.nice),
                needs: "CAP_SYS_NICE or a limit RLIMIT_NICE that allows it".to_owned(),
            });
        }
        set_policy(thread, Policy::Other(Fair { nice, ..fair }), false)?;
        Ok(Self { before, reset_on_fork, of_this_thread: PhantomData })
    }

    /// The nice value before.
    pub fn before(&self) -> i32 {
        self.before.fair().map_or(0, |fair| fair.nice)
    }
}

impl Drop for NiceGuard {
    fn drop(&mut self) {
        // Whether the thread may go back was checked before.
        let _cannot_fail = set_policy(ThreadId::current(), self.before, self.reset_on_fork);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Without privileges; what a child inherits is tested with `launch bench`.
    #[test]
    fn the_former_nice_value_is_restored() {
        let thread = ThreadId::current();
        let before = policy_of(thread).unwrap();
        let nice = before.0.fair().unwrap().nice;
        if let Ok(guard) = NiceGuard::new((nice + 1).min(19)) {
            assert_eq!(policy_of(thread).unwrap().0.fair().unwrap().nice, (nice + 1).min(19));
            drop(guard);
        }
        assert_eq!(policy_of(thread).unwrap(), before);
    }
}
