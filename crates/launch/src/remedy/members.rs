//! The processes of a launch, and their activity between two checks.

use std::collections::BTreeMap;

use unjank_host::process::pid::{self, Waits};
use unjank_host::{Nanos, Root, Timestamp};

use super::settle::Activity;

/// The most processes of a launch.
pub const MOST_MEMBERS: usize = 64;

/// Reads the counters of processes.
pub trait ProcessCounters {
    /// CPU time of a process; `None` if it does not exist.
    fn ran(&self, process: u32) -> Option<Nanos>;

    /// Its waits; `None` if it has ended. Slower than [`ran`](Self::ran).
    fn waits(&self, process: u32) -> Option<Waits>;
}

/// The counters of the processes of a machine.
#[derive(Debug, Clone, Copy)]
pub struct ProcessesOf<'a>(pub &'a Root);

impl ProcessCounters for ProcessesOf<'_> {
    fn ran(&self, process: u32) -> Option<Nanos> {
        pid::cpu_time(process)
    }

    fn waits(&self, process: u32) -> Option<Waits> {
        Waits::of(self.0, process)
    }
}

/// The processes of a launch.
#[derive(Debug, Clone)]
pub struct Members {
    /// Their counters at the last check.
    counters: BTreeMap<u32, LastCounters>,
    looked: Timestamp,
}

/// Counters of a process at the last check.
#[derive(Debug, Clone, Copy, Default)]
struct LastCounters {
    ran: Nanos,
    /// `None` if not read, because the launch was busy.
    waits: Option<Waits>,
}

impl Members {
    /// A launch whose first process is `process`.
    pub fn new(process: u32, now: Timestamp) -> Self {
        Self { counters: [(process, LastCounters::default())].into(), looked: now }
    }

    /// Adds a process, unless there are [`MOST_MEMBERS`].
    pub fn add(&mut self, process: u32) {
        if self.counters.len() < MOST_MEMBERS {
            self.counters.entry(process).or_default();
        }
    }

    /// Removes a process.
    pub fn remove(&mut self, process: u32) {
        self.counters.remove(&process);
    }

    /// Whether a process is one of them.
    pub fn contains(&self, process: u32) -> bool {
        self.counters.contains_key(&process)
    }

    /// The number of processes.
    pub fn len(&self) -> usize {
        self.counters.len()
    }

    /// Whether all have ended.
    pub fn is_empty(&self) -> bool {
        self.counters.is_empty()
    }

    /// Their activity since the last check. Processes that have ended are removed. A launch that
    /// runs for more than a `share` of the time is not idle, so its waits are not read.
    pub fn step(&mut self, now: Timestamp, share: f64, look: &impl ProcessCounters) -> Activity {
        let mut step = Activity::default();
        self.counters.retain(|&process, seen| {
            let Some(ran) = look.ran(process) else { return false };
            step.ran = step.ran + (ran - seen.ran);
            seen.ran = ran;
            true
        });
        let passed = now.since(self.looked).get() as f64;
        self.looked = now;
        if step.ran.get() as f64 > passed * share {
            self.counters.values_mut().for_each(|seen| seen.waits = None);
            return step;
        }
        self.counters.retain(|&process, seen| {
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
