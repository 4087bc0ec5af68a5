//! The five probes, as a checkup starts them.

use anyhow::Result;
use unjank_host::sched::CpuSet;
use unjank_host::{Machine, Nanos, Root, Timestamp};
use unjank_ipc::Transport;
use unjank_measure::stats::repetitions::FEWEST;
use unjank_measure::{Findings, Monitor};

use super::budget::{Budget, Starts};
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
        let cpus = unjank_launch::probe::representatives(machine, &allowed);
        let launches = budget.launch_options(machine, cpus);
        let Starts { count, length } = budget.starts(delay, &launches);
        let task: Box<dyn Fn(u32) -> Task> = match delay {
            Delay::Launch => {
                let repeated = Repeated::launches(root, &launches);
                return Ok(Self { repeated, starts: count, length });
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
                let transports = transports(turn, count);
                let usual = unjank_ipc::Options::usual(length);
                Task::Ipc(unjank_ipc::Options { turn: turn as usize, transports, ..usual })
            }),
        };
        let repeated = Repeated::new(root, delay.name(), length, task);
        Ok(Self { repeated, starts: count, length })
    }

    /// The number of starts.
    pub(super) fn starts(&self) -> u32 {
        self.starts
    }

    /// The number of starts so far.
    pub(super) fn begun(&self) -> u32 {
        self.repeated.begun()
    }

    /// The number of starts that did not end in time and were killed.
    pub(super) fn timed_out(&self) -> u32 {
        self.repeated.timed_out()
    }

    /// Approximate length of one start.
    pub(super) fn length(&self) -> Nanos {
        self.length + OVERHEAD
    }

    /// Starts it once. A process that has not ended by `deadline` is given up.
    pub(super) fn start(&mut self, deadline: Timestamp, monitor: &dyn Monitor) {
        self.repeated.start(Some(deadline), monitor);
    }

    /// Starts it again as in the start `number`.
    pub(super) fn start_again(&mut self, number: u32, deadline: Timestamp, monitor: &dyn Monitor) {
        self.repeated.start_number(number, Some(deadline), monitor);
    }

    /// The numbers of the starts that were disturbed from outside and can be repeated.
    pub(super) fn disturbed(&self) -> Vec<u32> {
        self.repeated.disturbed()
    }

    /// The findings of all starts together.
    pub(super) fn findings(self) -> Result<Findings> {
        self.repeated.findings()
    }
}

/// The transports of start number `turn` of `count`: those by which the answer is
/// judged on most devices, and one of the others in turn, so that most of the time
/// goes to the answer. With few starts, all of them.
fn transports(turn: u32, count: u32) -> Vec<Transport> {
    let all = Transport::BETWEEN_PROCESSES;
    let (mut usual, others): (Vec<Transport>, Vec<Transport>) =
        all.into_iter().partition(|transport| {
            matches!(transport, Transport::Binder | Transport::Hwbinder | Transport::Unix)
        });
    if count as usize / others.len().max(1) < FEWEST {
        return all.to_vec();
    }
    usual.push(others[turn as usize % others.len()]);
    usual
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_transport_has_starts_enough_for_an_interval() {
        for budget in [Budget::quick(), Budget::usual(), Budget::full(), Budget::quick().emulated()]
        {
            let launches = unjank_launch::Options::usual(CpuSet::new([0]));
            let Starts { count, .. } = budget.starts(Delay::Ipc, &launches);
            for transport in Transport::BETWEEN_PROCESSES {
                let with = |turn: &u32| transports(*turn, count).contains(&transport);
                assert!((0..count).filter(with).count() >= FEWEST, "{transport} of {count}");
            }
        }
        assert_eq!(transports(0, 12).len(), 4);
    }
}
