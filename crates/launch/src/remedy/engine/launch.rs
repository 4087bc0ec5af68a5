//! One launch that is followed, and how its processes are looked at.

use std::collections::BTreeMap;

use unjank_host::process::pid::Waits;
use unjank_host::{Nanos, Timestamp};

use super::why::Why;
use crate::remedy::settle::{Settle, Step};

#[derive(Debug)]
pub(super) struct Launch {
    pub(super) process: u32,
    pub(super) program: String,
    pub(super) begun: Timestamp,
    pub(super) until: Timestamp,
    pub(super) at_limit: Why,
    /// Its processes, and what they had done at the last look.
    pub(super) members: BTreeMap<u32, Seen>,
    pub(super) looked: Timestamp,
    pub(super) settle: Settle,
}

/// What was seen of a process at the last look.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Seen {
    ran: Nanos,
    /// `None` where it was not asked for: the launch was busy.
    waits: Option<Waits>,
}

/// How processes are looked at.
pub trait Look {
    /// CPU time that a process has used; `None` if there is none.
    fn ran(&self, process: u32) -> Option<Nanos>;

    /// What it has waited for; `None` if it has ended. Takes longer.
    fn waits(&self, process: u32) -> Option<Waits>;
}

impl Launch {
    /// What its processes did since the last look. Those that have ended are
    /// followed no longer. A launch that runs is not idle whatever it waits
    /// for besides, so that is not asked.
    pub(super) fn step(&mut self, now: Timestamp, share: f64, look: &impl Look) -> Step {
        let mut step = Step::default();
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
