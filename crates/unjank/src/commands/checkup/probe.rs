//! The five probes, as a checkup starts them.

use anyhow::Result;
use unjank_host::sched::CpuSet;
use unjank_host::{Machine, Nanos, Root, Timestamp};
use unjank_measure::{Findings, Monitor};

use super::budget::{self, Budget};
use super::delay::Delay;
use crate::commands::repeated::Repeated;
use crate::commands::repetition::Task;
use crate::paths;

/// A probe that is started several times, each time in a process of its own.
pub(super) struct Probe<'a> {
    repeated: Repeated<'a>,
    starts: u32,
    length: Nanos,
}

/// The longest that starting takes on a healthy machine: a process, its threads, a
/// trace instance, a scratch file.
const OVERHEAD: Nanos = Nanos::from_millis(150);

impl<'a> Probe<'a> {
    /// Prepares a probe, without starting it.
    pub(super) fn new(
        delay: Delay,
        budget: &Budget,
        machine: &Machine,
        root: &'a Root,
        seed: u64,
    ) -> Result<Self> {
        let allowed = CpuSet::allowed()?;
        let length = budget.length(delay);
        let task: Box<dyn Fn(u32) -> Task> = match delay {
            Delay::Launch => {
                let cpus = budget::representatives(machine, &allowed);
                let options = unjank_launch::Options::usual(cpus.clone());
                let starts = budget.launches(options.length(), cpus.len());
                let repeated = Repeated::launches(root, &options);
                return Ok(Self { repeated, starts, length: options.length() });
            }
            Delay::Swap => {
                let options = unjank_swap::Options::usual(length, paths::scratch());
                Box::new(move |turn| Task::Swap(options.clone(), seed.wrapping_add(turn.into())))
            }
            Delay::Jitter => Box::new(move |turn| {
                let half = Nanos(length.get() / 2);
                let mut options = unjank_jitter::Options {
                    cause: true,
                    ..unjank_jitter::Options::usual(allowed.clone(), half)
                };
                options.schedulings.rotate_left(turn as usize % 2);
                Task::Jitter(options)
            }),
            Delay::Lock => Box::new(move |turn| {
                Task::Lock(unjank_lock::Options {
                    cpus: None,
                    duration: length,
                    turn: turn as usize,
                })
            }),
            Delay::Ipc => Box::new(move |turn| {
                let usual = unjank_ipc::Options::usual(length);
                Task::Ipc(unjank_ipc::Options { turn: turn as usize, ..usual })
            }),
        };
        let repeated = Repeated::new(root, delay.name(), length, task);
        Ok(Self { repeated, starts: budget.starts(), length })
    }

    /// The number of starts.
    pub(super) fn starts(&self) -> u32 {
        self.starts
    }

    /// The number of starts so far.
    pub(super) fn begun(&self) -> u32 {
        self.repeated.begun()
    }

    /// About how long one start takes.
    pub(super) fn length(&self) -> Nanos {
        self.length + OVERHEAD
    }

    /// Starts it once. A process that has not ended by `deadline` is given up.
    pub(super) fn start(&mut self, deadline: Timestamp, monitor: &dyn Monitor) {
        self.repeated.start(Some(deadline), monitor);
    }

    /// The number of starts that were disturbed from outside and can be repeated.
    pub(super) fn disturbed(&self) -> u32 {
        self.repeated.disturbed()
    }

    /// The findings of all starts together.
    pub(super) fn findings(self) -> Result<Findings> {
        self.repeated.findings()
    }
}
