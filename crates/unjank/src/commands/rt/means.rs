//! What this machine and this user have to change threads with.

use std::env;

use anyhow::Result;
use unjank_host::process::connector::{EventKinds, ProcConnector};
use unjank_host::process::is_privileged_to_schedule;
use unjank_host::rtkit::{RealtimeKit, Rtkit};
use unjank_host::sched::{
    Policy, Priority, Realtime, RealtimeGuard, ThreadId, best_nice, is_throttled, set_policy,
};
use unjank_host::thread_ledger::Kernel;
use unjank_host::{Root, Support};
use unjank_jitter::rt::{PolicySetter, Rules};

/// The bus of the system, if nobody says otherwise: the D-Bus specification.
const SYSTEM_BUS: &str = "unix:path=/var/run/dbus/system_bus_socket";

/// The kernel, and rtkit if the kernel may refuse.
#[derive(Debug)]
pub(super) struct Means {
    kernel: Kernel,
    rtkit: Support<Rtkit>,
    privileged: bool,
}

impl Means {
    /// Looks what there is for `rules`.
    pub(super) fn find(root: &Root, rules: &Rules) -> Self {
        let privileged = is_privileged_to_schedule(root);
        let rtkit = if privileged || !rules.are_realtime() {
            Support::no("not asked, as this user has CAP_SYS_NICE")
        } else {
            let address = env::var("DBUS_SYSTEM_BUS_ADDRESS");
            Rtkit::connect(address.as_deref().unwrap_or(SYSTEM_BUS))
        };
        Self { kernel: Kernel::new(), rtkit, privileged }
    }

    /// The ways to change threads of `process`.
    pub(super) fn ladder(&self, process: u32) -> PolicySetter<'_> {
        let rtkit = match &self.rtkit {
            Support::Yes(rtkit) => Ok(rtkit as &dyn RealtimeKit),
            Support::No(reason) => Err(reason.clone()),
        };
        // Of a process that is somebody else's nothing can be changed anyway.
        let best_nice = if self.privileged { -20 } else { best_nice(process).unwrap_or(19) };
        PolicySetter { scheduler: &self.kernel, rtkit, best_nice }
    }

    /// The kernel.
    pub(super) fn kernel(&self) -> &Kernel {
        &self.kernel
    }
}

/// The connector that tells of new threads, or why there is none.
pub(super) fn events() -> Result<Support<ProcConnector>> {
    Ok(ProcConnector::listen(EventKinds::THREADS)?)
}

/// What lets the watching thread run while real-time threads burn all CPUs.
///
/// Real-time throttling does: it keeps CPU time back for ordinary threads, and
/// this one comes first among them. So watching takes nothing from the threads
/// that are watched. Where the throttling is off, which only `--force` accepts,
/// this thread must be above them.
pub(super) fn precedence(root: &Root, rules: &Rules) -> Result<Option<Realtime>> {
    let me = ThreadId::current();
    if is_throttled(root)? || !rules.are_realtime() {
        // Only a privileged user may, and the others have to do without.
        let _best_effort = set_policy(me, Policy::other(-20), true);
        return Ok(None);
    }
    let above = rules.highest().unwrap_or(1).saturating_add(1).min(99);
    Ok(Some(Realtime::prepare(root, Priority::new(above)?, true)?))
}

/// Takes the precedence, where that takes more than a nice value.
pub(super) fn enter(precedence: Option<&Realtime>) -> Result<Option<RealtimeGuard<'_>>> {
    Ok(precedence.map(Realtime::enter).transpose()?)
}
