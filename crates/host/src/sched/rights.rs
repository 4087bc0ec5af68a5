//! What a user may do to the scheduling of a process's threads.

use std::mem::discriminant;

use super::policy::Policy;
use super::run_limit::{best_nice, highest_priority};
use crate::error::{Error, Result};
use crate::process::is_privileged_to_schedule;
use crate::root::Root;

/// The rights of a user over the threads of one process.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SchedulingRights {
    /// Everything: `CAP_SYS_NICE`.
    All,
    /// What the limits of the process allow.
    Limited {
        /// The best nice value that a thread may be given, if it is better than its own: from
        /// `RLIMIT_NICE`. 20 if there is none.
        best_nice: i32,
        /// The highest real-time priority: `RLIMIT_RTPRIO`. 0 if there is none.
        highest_priority: u8,
    },
}

/// A policy, and the nice value that a thread has with it. Every policy has one.
pub type PolicyAndNice = (Policy, i32);

impl SchedulingRights {
    /// No right to a better nice value or to a real-time priority.
    pub const NONE: Self = Self::Limited { best_nice: 20, highest_priority: 0 };

    /// The rights of this user over `process`.
    ///
    /// # Errors
    /// Without `CAP_SYS_NICE`: the process does not exist, or belongs to another user.
    pub fn over(root: &Root, process: u32) -> Result<Self> {
        if is_privileged_to_schedule(root) {
            return Ok(Self::All);
        }
        let (best_nice, highest_priority) = (best_nice(process)?, highest_priority(process)?);
        Ok(Self::Limited { best_nice, highest_priority })
    }

    /// The best nice value that a thread may be given, if it is better than its own.
    pub fn best_nice(self) -> i32 {
        match self {
            Self::All => -20,
            Self::Limited { best_nice, .. } => best_nice,
        }
    }

    /// Checks that a thread which is given `new` may be given back `old`.
    ///
    /// # Errors
    /// `Permission` if it may not.
    pub fn check_return(self, new: PolicyAndNice, old: PolicyAndNice) -> Result<()> {
        if self.allow(new, old) {
            return Ok(());
        }
        let needs = match old.0 {
            Policy::Deadline { .. } => "CAP_SYS_NICE",
            Policy::Fifo(_) | Policy::RoundRobin(_) => {
                "CAP_SYS_NICE or a limit RLIMIT_RTPRIO that allows it"
            }
            _ => "CAP_SYS_NICE or a limit RLIMIT_NICE that allows it",
        };
        Err(Error::Permission {
            what: format!("going back from {} to {}", new.0, old.0),
            needs: needs.to_owned(),
        })
    }

    /// Whether a thread may go from one state to another: `user_check_sched_setscheduler` of
    /// `kernel/sched/syscalls.c`, for a thread of this user. `SCHED_RESET_ON_FORK` is not part of
    /// the state, because it does no harm if it stays.
    fn allow(self, from: PolicyAndNice, to: PolicyAndNice) -> bool {
        let Self::Limited { best_nice, highest_priority } = self else { return true };
        let ((policy, nice), (new_policy, new_nice)) = (from, to);
        let is_nice_enough = new_nice >= nice || new_nice >= best_nice;
        let may_leave_idle =
            policy != Policy::Idle || new_policy == Policy::Idle || nice >= best_nice;
        let is_same_kind = discriminant(&policy) == discriminant(&new_policy);
        let may_be_realtime = match new_policy {
            Policy::Fifo(new) | Policy::RoundRobin(new) => {
                (is_same_kind || highest_priority > 0)
                    && new.get() <= highest_priority.max(priority(policy))
            }
            Policy::Deadline { .. } => policy == new_policy,
            Policy::Other(_) | Policy::Batch(_) | Policy::Idle => true,
        };
        is_nice_enough && may_leave_idle && may_be_realtime
    }
}

/// `rt_priority` of the kernel: 0 for a policy without a priority.
fn priority(policy: Policy) -> u8 {
    match policy {
        Policy::Fifo(priority) | Policy::RoundRobin(priority) => priority.get(),
        _ => 0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn limited(best_nice: i32, highest_priority: u8) -> SchedulingRights {
        SchedulingRights::Limited { best_nice, highest_priority }
    }

    /// Policy and nice value; a policy that is not of the fair class leaves the nice value at 0.
    fn state(policy: &str) -> PolicyAndNice {
        let policy: Policy = policy.parse().unwrap();
        (policy, policy.fair().map_or(0, |fair| fair.nice))
    }

    #[test]
    fn a_thread_that_is_lowered_may_return_only_within_the_limits() {
        let none = SchedulingRights::NONE;
        for (new, old, rights, may) in [
            ("other:19", "other", none, false),
            ("other:19", "other", limited(1, 0), false),
            ("other:19", "other", limited(0, 0), true),
            ("batch:5", "other:5", none, true),
            ("other:-5", "other", none, true),
            ("idle", "other", none, false),
            ("idle", "batch", limited(0, 0), true),
            ("idle", "idle", none, true),
            ("fifo:80", "other", none, true),
            ("fifo:80", "idle", none, true),
            ("idle", "fifo:5", limited(20, 5), false),
            ("other", "fifo:5", limited(20, 4), false),
            ("other", "fifo:5", limited(20, 5), true),
            ("fifo:9", "fifo:5", none, true),
            ("rr:9", "fifo:5", none, false),
            ("rr:9", "fifo:5", limited(20, 1), true),
            ("rr:3", "fifo:5", limited(20, 4), false),
            ("other", "deadline:1ms/10ms/10ms", limited(-20, 99), false),
            ("other", "deadline:1ms/10ms/10ms", SchedulingRights::All, true),
        ] {
            let back = rights.check_return(state(new), state(old));
            assert_eq!(back.is_ok(), may, "{new} → {old} with {rights:?}");
        }
    }

    #[test]
    fn the_nice_value_counts_under_every_policy() {
        let returns = |old_nice| {
            let new = (Policy::other(5), 5);
            SchedulingRights::NONE.check_return(new, (Policy::Idle, old_nice)).is_ok()
        };
        assert_eq!([returns(0), returns(5)], [false, true]);
    }

    #[test]
    fn a_refusal_names_the_way_back_and_the_limit() {
        let text = |new, old| {
            let back = SchedulingRights::NONE.check_return(state(new), state(old));
            back.unwrap_err().to_string()
        };
        assert_eq!(
            text("idle", "other"),
            "going back from idle to other needs CAP_SYS_NICE or a limit RLIMIT_NICE that allows it"
        );
        assert!(text("other", "fifo:5").contains("RLIMIT_RTPRIO"));
    }
}
