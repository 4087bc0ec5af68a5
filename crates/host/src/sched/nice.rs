//! The nice value that programs inherit from the thread that starts them.

use super::attributes::set_policy;
use super::fair::Fair;
use super::former::FormerPolicy;
use super::policy::{Policy, ThreadId};
use super::rights::SchedulingRights;
use crate::error::{Error, Result};
use crate::root::Root;

/// Gives the calling thread another nice value, which processes inherit from it
/// (`setpriority(2)`). Restores its former value when dropped.
#[derive(Debug)]
pub struct NiceGuard {
    pub(super) former: FormerPolicy,
}

impl NiceGuard {
    /// Sets the nice value, from −20 to 19.
    ///
    /// # Errors
    /// `Permission` without the privilege to set it, or to restore the former value;
    /// `Invalid` if the calling thread does not have an ordinary policy.
    pub fn new(nice: i32) -> Result<Self> {
        let former = FormerPolicy::of_this_thread()?;
        let Policy::Other(fair) = former.get() else {
            return Err(Error::Invalid(format!(
                "a thread with the policy {} has no nice value",
                former.get()
            )));
        };
        let new = Policy::Other(Fair { nice, ..fair });
        let rights = SchedulingRights::over(&Root::system(), std::process::id())?;
        rights.check_return((new, nice), (former.get(), fair.nice))?;
        set_policy(ThreadId::current(), new, false)?;
        Ok(Self { former })
    }
}

#[cfg(test)]
mod tests {
    use super::super::attributes::policy_of;
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
