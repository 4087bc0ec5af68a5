//! How long each probe may take, and which CPUs stand for all of them.

use std::collections::BTreeSet;

use unjank_host::sched::CpuSet;
use unjank_host::{Machine, Nanos};

use super::Delay;

/// Time for each probe.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Budget {
    name: &'static str,
    launch: Nanos,
    swap: Nanos,
    jitter: Nanos,
    lock: Nanos,
    ipc: Nanos,
}

/// The fewest launches that give a median an interval.
const FEWEST_LAUNCHES: u64 = 6;

const fn seconds(tenths: u64) -> Nanos {
    Nanos::from_millis(tenths * 100)
}

impl Budget {
    /// Within one minute.
    pub(super) fn usual() -> Self {
        Self {
            name: "usual",
            launch: seconds(150),
            swap: seconds(80),
            jitter: seconds(200),
            lock: seconds(50),
            ipc: seconds(60),
        }
    }

    /// Within 15 seconds.
    pub(super) fn quick() -> Self {
        Self {
            name: "quick",
            launch: seconds(40),
            swap: seconds(18),
            jitter: seconds(50),
            lock: seconds(10),
            ipc: seconds(15),
        }
    }

    /// About five minutes.
    pub(super) fn full() -> Self {
        let usual = Self::usual();
        Self {
            name: "full",
            launch: usual.launch.times(5),
            swap: usual.swap.times(5),
            jitter: usual.jitter.times(6),
            lock: usual.lock.times(5),
            ipc: usual.ipc.times(5),
        }
    }

    pub(super) fn name(&self) -> &'static str {
        self.name
    }

    pub(super) fn of(&self, delay: Delay) -> Nanos {
        match delay {
            Delay::Launch => self.launch,
            Delay::Swap => self.swap,
            Delay::Jitter => self.jitter,
            Delay::Lock => self.lock,
            Delay::Ipc => self.ipc,
        }
    }

    /// Launches on each of `cpus` CPUs, if one takes `length`.
    pub(super) fn launches(&self, length: Nanos, cpus: usize) -> u32 {
        let cpus = cpus.max(1) as u64;
        let fitting = self.launch.get() / (length.get() * cpus).max(1);
        fitting.max(FEWEST_LAUNCHES.div_ceil(cpus)) as u32
    }

    /// Wake-ups are measured as an ordinary and as a real-time thread.
    pub(super) fn per_scheduling(&self) -> Nanos {
        Nanos(self.jitter.get() / 2)
    }
}

/// CPUs that stand for all allowed ones when each is measured in turn: the
/// first of each frequency policy; where there is none, of each capacity and
/// package. At most eight.
pub(super) fn representatives(machine: &Machine, allowed: &CpuSet) -> CpuSet {
    const MOST: usize = 8;
    let policy_of = |cpu: usize| {
        machine
            .frequency
            .iter()
            .position(|policy| policy.cpus.parse::<CpuSet>().is_ok_and(|cpus| cpus.contains(cpu)))
    };
    let mut kinds = BTreeSet::new();
    let mut chosen: Vec<usize> = allowed
        .iter()
        .filter(|&cpu| {
            let place = machine.cpu.cpus.iter().find(|topology| topology.cpu == cpu);
            let capacity = place.and_then(|place| place.capacity);
            let package = place.map(|place| place.package);
            kinds.insert((policy_of(cpu), capacity, package))
        })
        .collect();
    // Without frequency policies nothing says that the CPUs share a clock: a
    // second one shows whether they differ.
    if machine.frequency.is_empty() && chosen.len() == 1 {
        chosen.extend(allowed.iter().nth(1));
    }
    chosen.truncate(MOST);
    CpuSet::new(chosen)
}

#[cfg(test)]
mod tests {
    use unjank_host::machine::{CpuTopology, FrequencyPolicy};

    use super::*;

    fn total(budget: Budget) -> Nanos {
        Delay::ALL.into_iter().fold(Nanos::ZERO, |sum, delay| sum + budget.of(delay))
    }

    #[test]
    fn budgets_leave_room_for_setting_up() {
        assert!(total(Budget::usual()) <= Nanos::from_millis(57_000));
        assert!(total(Budget::quick()) <= Nanos::from_millis(13_500));
    }

    #[test]
    fn there_are_always_enough_launches_for_an_interval() {
        let length = Nanos::from_millis(500);
        assert_eq!(Budget::usual().launches(length, 2), 15);
        assert_eq!(Budget::quick().launches(length, 2), 4);
        assert_eq!(Budget::quick().launches(length, 8), 1);
    }

    #[test]
    fn one_cpu_of_each_frequency_policy_is_measured() {
        let policy = |cpus: &str| FrequencyPolicy { cpus: cpus.to_owned(), ..Default::default() };
        let machine = Machine {
            frequency: vec![policy("0-3"), policy("4-6"), policy("7")],
            ..Machine::default()
        };
        let all = CpuSet::new(0..8);
        assert_eq!(representatives(&machine, &all).to_string(), "0,4,7");
        assert_eq!(representatives(&machine, &CpuSet::new([2, 3, 6])).to_string(), "2,6");
    }

    #[test]
    fn without_policies_two_cpus_stand_for_all() {
        let mut machine = Machine::default();
        machine.cpu.cpus = (0..4).map(|cpu| CpuTopology { cpu, ..Default::default() }).collect();
        assert_eq!(representatives(&machine, &CpuSet::new(0..4)).to_string(), "0-1");
        assert_eq!(representatives(&machine, &CpuSet::new([3])).to_string(), "3");
    }
}
