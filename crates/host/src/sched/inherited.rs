//! The policy that programs inherit from the thread that starts them.

use super::attributes::set_policy;
use super::former::{FormerPolicy, FormerRunLimit};
use super::nice::NiceGuard;
use super::policy::{Policy, ThreadId};
use super::realtime::{HIGHEST_UNFORCED, needs_throttling, throttling};
use crate::error::{Error, Result};
use crate::root::Root;
use unjank_units::Nanos;

/// Gives the calling thread a policy, which processes inherit from it, and their children from
/// them. Restores its former policy when dropped.
///
/// A real-time policy comes with the limit on running that processes inherit as well
/// ([`LONGEST_RUN`](Self::LONGEST_RUN)).
#[derive(Debug)]
pub struct InheritedPolicy {
    former: FormerPolicy,
    // Dropped after the policy, which must not be real-time without it.
    _run_limit: Option<FormerRunLimit>,
}

impl InheritedPolicy {
    /// The longest time that a thread of a real-time program may run without sleeping before the
    /// kernel ends its process (`RLIMIT_RTTIME` of `getrlimit(2)`): as under `unjank rt exec`.
    pub const LONGEST_RUN: Nanos = Nanos::from_millis(7_000);

    /// Sets `policy`: `SCHED_FIFO`, `SCHED_RR`, or of `SCHED_OTHER` the nice value.
    ///
    /// # Errors
    /// As [`check`](Self::check); `Permission` without the privilege; of a nice value also those
    /// of [`NiceGuard::new`].
    pub fn enter(root: &Root, policy: Policy) -> Result<Self> {
        Self::check(root, policy)?;
        if let Policy::Other(fair) = policy {
            return Ok(Self { former: NiceGuard::new(fair.nice)?.former, _run_limit: None });
        }
        let run_limit = FormerRunLimit::lowered_to(Self::LONGEST_RUN)?;
        let former = FormerPolicy::of_this_thread()?;
        set_policy(ThreadId::current(), policy, false)?;
        Ok(Self { former, _run_limit: Some(run_limit) })
    }

    /// Checks that programs can have `policy`, and that it is safe on this machine.
    ///
    /// # Errors
    /// `Invalid` for a policy that children do not inherit, and for a priority above
    /// [`HIGHEST_UNFORCED`]; `Permission` for a real-time policy on a machine without real-time
    /// throttling.
    pub fn check(root: &Root, policy: Policy) -> Result<()> {
        let (name, priority) = match policy {
            Policy::Other(_) => return Ok(()),
            Policy::Fifo(priority) => ("SCHED_FIFO", priority.get()),
            Policy::RoundRobin(priority) => ("SCHED_RR", priority.get()),
            Policy::Batch(_) | Policy::Idle | Policy::Deadline { .. } => {
                return Err(Error::Invalid(format!("{policy}: expected other, fifo or rr")));
            }
        };
        if priority > HIGHEST_UNFORCED {
            return Err(Error::Invalid(format!(
                "real-time priority {priority} is above {HIGHEST_UNFORCED}, where the kernel's \
                 own threads run"
            )));
        }
        needs_throttling(name, throttling(root)?, "real-time throttling")
    }

    /// The policy of the calling thread before.
    pub fn before(&self) -> Policy {
        self.former.get()
    }
}

#[cfg(test)]
mod tests {
    use super::super::attributes::policy_of;
    use super::super::run_limit::run_limit;
    use super::*;

    fn policy(text: &str) -> Policy {
        text.parse().unwrap()
    }

    #[test]
    fn a_program_can_have_a_safe_policy_that_its_children_inherit() {
        let tree = tempfile::tempdir().unwrap();
        let root = Root::at(tree.path());
        let says = |text| InheritedPolicy::check(&root, policy(text)).unwrap_err().to_string();
        for safe in ["other:5", "fifo:90", "rr:1"] {
            assert!(InheritedPolicy::check(&root, policy(safe)).is_ok(), "{safe}");
        }
        assert!(says("fifo:91").contains("91 is above 90"));
        assert_eq!(
            says("deadline:2ms/10ms/10ms").split_once(": ").unwrap().1,
            "expected other, fifo or rr"
        );
        let kernel = tree.path().join("proc/sys/kernel");
        std::fs::create_dir_all(&kernel).unwrap();
        std::fs::write(kernel.join("sched_rt_runtime_us"), "-1\n").unwrap();
        assert!(says("rr:1").starts_with("SCHED_RR on a machine without real-time throttling"));
        assert!(InheritedPolicy::check(&root, policy("other")).is_ok());
    }

    /// With the privilege; what a child inherits is tested with `launch bench`.
    #[test]
    fn the_former_policy_and_limit_are_restored() {
        let state = || {
            (policy_of(ThreadId::current()).unwrap(), run_limit(std::process::id()).unwrap().soft)
        };
        let before = state();
        if let Ok(guard) = InheritedPolicy::enter(&Root::system(), policy("fifo:1")) {
            let ((now, reset_on_fork), limit) = state();
            assert_eq!((now, reset_on_fork), (policy("fifo:1"), false));
            assert!(limit.is_some_and(|limit| limit <= InheritedPolicy::LONGEST_RUN));
            assert_eq!(guard.before(), before.0.0);
            drop(guard);
        }
        assert_eq!(state(), before);
    }
}
