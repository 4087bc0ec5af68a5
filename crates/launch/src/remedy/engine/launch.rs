//! A followed launch, and the activity of its processes.

use std::collections::BTreeMap;

use unjank_host::process::pid::Waits;
use unjank_host::{Nanos, Timestamp};

use super::end_reason::EndReason;
use crate::remedy::settle::{Activity, SettleDetector};

#[derive(Debug)]
pub(super) struct Launch {
    pub(super) process: u32,
    pub(super) program: String,
    pub(super) begun: Timestamp,
    pub(super) until: Timestamp,
    pub(super) at_limit: EndReason,
    /// Its processes, and their counters at the last check.
    pub(super) members: BTreeMap<u32, LastCounters>,
    pub(super) looked: Timestamp,
    pub(super) settle: SettleDetector,
}

/// Counters of a process at the last check.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct LastCounters {
    ran: Nanos,
    /// `None` if not read, because the launch was busy.
    waits: Option<Waits>,
}

/// Reads the counters of processes.
pub trait ProcessCounters {
    /// CPU time of a process; `None` if it does not exist.
    fn ran(&self, process: u32) -> Option<Nanos>;

    /// Its waits; `None` if it has ended. Slower than [`ran`](Self::ran).
    fn waits(&self, process: u32) -> Option<Waits>;
}

impl Launch {
    /// The activity of its processes since the last check. Processes that have
    /// ended are removed. A launch that runs is not idle, so its waits are not
    /// read.
    pub(super) fn step(
        &mut self,
        now: Timestamp,
        share: f64,
        look: &impl ProcessCounters,
    ) -> Activity {
        let mut step = Activity::default();
        self.members.retain(|&process, seen| {
            let Some(ran) = look.ran(process) else { return false };
            step.ran = step.ran + (ran - seen.ran);
            seen.ran = ran;
            true
        });
        let passed = now.since(self.looked).get() as f64;
        self.looked = now;
        if step.ran.get() as f64 > passed * share {
            self.members.values_mut().for_each(|seen| seen.waits = None);
            return step;
        }
        self.members.retain(|&process, seen| {
            let Some(waits) = look.waits(process) else { return false };
            let before = seen.waits.replace(waits).unwrap_or(waits);
            step.waited = step.waited + (waits.ready - before.ready);
            step.major_faults += waits.major_faults.saturating_sub(before.major_faults);
            step.blocked |= waits.blocked;
            true
        });
        step
    }
}
