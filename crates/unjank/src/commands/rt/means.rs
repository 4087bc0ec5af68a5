//! The ways in which this user can change threads on this machine.

use anyhow::Result;
use unjank_host::process::connector::{EventKinds, ProcConnector};
use unjank_host::process::is_privileged_to_schedule;
use unjank_host::rtkit::{RealtimeKit, Rtkit};
use unjank_host::sched::{
    Policy, Priority, Realtime, RealtimeGuard, SchedulingRights, ThreadId, is_throttled, set_policy,
};
use unjank_host::thread_ledger::Kernel;
use unjank_host::{Root, Support};
use unjank_jitter::rt::{PolicySetter, Rules, Watcher};

use crate::commands::system_bus;

/// The kernel, and rtkit if the kernel may refuse.
#[derive(Debug)]
pub(super) struct Means {
    kernel: Kernel,
    rtkit: Support<Rtkit>,
}

impl Means {
    /// Finds the ways for `rules`.
    pub(super) fn find(root: &Root, rules: &Rules) -> Self {
        let rtkit = if is_privileged_to_schedule(root) || !rules.are_realtime() {
            Support::no("not needed: this user has CAP_SYS_NICE, or no rule is real-time")
        } else {
            Rtkit::connect(&system_bus::address())
        };
        Self { kernel: Kernel::new(), rtkit }
    }

    /// The ways to change threads of `process`.
    pub(super) fn policy_setter(&self, root: &Root, process: u32) -> PolicySetter<'_> {
        let rtkit = match &self.rtkit {
            Support::Yes(rtkit) => Ok(rtkit as &dyn RealtimeKit),
            Support::No(reason) => Err(reason.clone()),
        };
        // In another user's process nothing can be changed anyway.
        let rights = SchedulingRights::over(root, process).unwrap_or(SchedulingRights::NONE);
        PolicySetter { scheduler: &self.kernel, rtkit, rights }
    }

    pub(super) fn kernel(&self) -> &Kernel {
        &self.kernel
    }
}

/// The connector that reports new threads, or why there is none.
pub(super) fn events() -> Result<Support<ProcConnector>> {
    Ok(ProcConnector::listen(EventKinds::THREADS)?)
}

/// Gives this thread the policy of a [`Watcher`], or prepares the priority that
/// [`enter`] takes.
pub(super) fn precedence(root: &Root, rules: &Rules) -> Result<Option<Realtime>> {
    match rules.watcher(is_throttled(root)?) {
        Watcher::Ordinary => {
            // Only a privileged user may do that; others do without.
            let _best_effort = set_policy(ThreadId::current(), Policy::other(-20), true);
            Ok(None)
        }
        Watcher::Realtime(priority) => {
            Ok(Some(Realtime::prepare(root, Priority::new(priority)?, true)?))
        }
    }
}

/// Takes the real-time priority, if one is needed.
pub(super) fn enter(precedence: Option<&Realtime>) -> Result<Option<RealtimeGuard<'_>>> {
    Ok(precedence.map(Realtime::enter).transpose()?)
}
