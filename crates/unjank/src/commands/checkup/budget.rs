//! How long each probe may take, and on which CPUs launches are measured.

use std::collections::BTreeSet;

use unjank_host::sched::CpuSet;
use unjank_host::{Machine, Nanos};
use unjank_measure::stats::random;

use super::delay::Delay;

/// Number and length of the starts of each probe, and the time limit of the run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Budget {
    name: &'static str,
    /// Time limit of the process, from its beginning to its end.
    limit: Nanos,
    /// All launches together.
    launch: Nanos,
    /// All launches of a program that is explained.
    program: Nanos,
    /// Starts of every other probe.
    starts: u32,
    /// Length of one start of each.
    swap: Nanos,
    jitter: Nanos,
    lock: Nanos,
    ipc: Nanos,
}

/// The smallest number of launches whose median has an interval.
const FEWEST_LAUNCHES: u64 = 6;
/// About the time of these launches.
const FEWEST_LAUNCH_TIME: Nanos = Nanos::from_millis(3_000);
/// The smallest number of starts whose median has an interval.
const FEWEST_STARTS: u32 = 6;

impl Budget {
    /// Within one minute.
    pub(super) fn usual() -> Self {
        let millis = Nanos::from_millis;
        Self {
            name: "usual",
            limit: millis(60_000),
            launch: millis(15_000),
            program: millis(0),
            starts: 12,
            swap: millis(400),
            jitter: millis(1_600),
            lock: millis(400),
            ipc: millis(500),
        }
    }

    /// Within 15 seconds.
    pub(super) fn quick() -> Self {
        let millis = Nanos::from_millis;
        Self {
            name: "quick",
            limit: millis(15_000),
            launch: millis(3_000),
            program: millis(0),
            starts: 8,
            swap: millis(100),
            jitter: millis(440),
            lock: millis(100),
            ipc: millis(130),
        }
    }

    /// About five minutes.
    pub(super) fn full() -> Self {
        let millis = Nanos::from_millis;
        Self {
            name: "full",
            limit: millis(312_000),
            launch: millis(60_000),
            program: millis(0),
            starts: 40,
            swap: millis(700),
            jitter: millis(2_400),
            lock: millis(700),
            ipc: millis(800),
        }
    }

    /// For an emulated machine, where starting a process takes longer than
    /// measuring in it: fewer starts within 30 minutes.
    pub(super) fn emulated(self) -> Self {
        Self { limit: Nanos::from_millis(1_800_000), launch: FEWEST_LAUNCH_TIME, starts: 4, ..self }
    }

    /// With launches of a program, which take the time of some other starts.
    pub(super) fn with_program(self) -> Self {
        let starts = (self.starts - self.starts / 6).min(self.starts - 2);
        let starts = starts.max(FEWEST_STARTS.min(self.starts));
        let each = [self.swap, self.jitter, self.lock, self.ipc];
        let each = each.into_iter().fold(Nanos::ZERO, |sum, length| sum + length);
        let freed = each.times(u64::from(self.starts - starts));
        let half = Nanos(self.launch.get() / 2);
        // In the shortest run, launches of the other kind cannot become fewer.
        let launch = half.max(FEWEST_LAUNCH_TIME.min(self.launch));
        Self { starts, launch, program: self.launch - launch + freed, ..self }
    }

    /// Time for launches of a program.
    pub(super) fn program(&self) -> Nanos {
        self.program
    }

    pub(super) fn name(&self) -> &'static str {
        self.name
    }

    /// Time limit of the process, from its beginning to its end.
    pub(super) fn limit(&self) -> Nanos {
        self.limit
    }

    /// About how long one start of a probe takes; zero for launches.
    pub(super) fn length(&self, delay: Delay) -> Nanos {
        match delay {
            Delay::Launch => Nanos::ZERO,
            Delay::Swap => self.swap,
            Delay::Jitter => self.jitter,
            Delay::Lock => self.lock,
            Delay::Ipc => self.ipc,
        }
    }

    /// Starts of each probe except launches.
    pub(super) fn starts(&self) -> u32 {
        self.starts
    }

    /// Launches on each of `cpus` CPUs, if one takes `length`.
    pub(super) fn launches(&self, length: Nanos, cpus: usize) -> u32 {
        let cpus = cpus.max(1) as u64;
        let fitting = self.launch.get() / (length.get() * cpus).max(1);
        fitting.max(FEWEST_LAUNCHES.div_ceil(cpus)) as u32
    }
}

/// The order of all starts. The run is divided into as many equal stretches as a
/// probe has starts; one start lies in each stretch, at a random place.
pub(super) fn order(counts: &[(Delay, u32)], seed: u64) -> Vec<Delay> {
    const FINE: u64 = 1 << 20;
    let mut places: Vec<(f64, Delay)> = counts
        .iter()
        .flat_map(|&(delay, count)| {
            (0..count).map(move |start| {
                let stream = format!("place of {} {start}", delay.name());
                let within = random::below(seed, &stream, FINE) as f64 / FINE as f64;
                ((f64::from(start) + within) / f64::from(count), delay)
            })
        })
        .collect();
    places.sort_by(|a, b| a.0.total_cmp(&b.0));
    places.into_iter().map(|(_, delay)| delay).collect()
}

/// The CPUs on which launches are measured: the first allowed one of each
/// frequency policy, or, without policies, of each capacity and package. At most
/// eight.
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
    // Without frequency policies CPUs may have different clocks, which a second
    // CPU shows.
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

    /// The length of all starts on two CPUs, without the starting of processes.
    fn total(budget: Budget) -> Nanos {
        let length = Nanos::from_millis(500);
        let launches = length.times(2 * u64::from(budget.launches(length, 2)));
        Delay::ALL.into_iter().fold(launches, |sum, delay| {
            sum + budget.length(delay).times(u64::from(budget.starts()))
        })
    }

    #[test]
    fn budgets_leave_room_for_starting() {
        for budget in [Budget::usual(), Budget::quick(), Budget::full()] {
            assert!(total(budget).get() * 100 <= budget.limit().get() * 85, "{budget:?}");
        }
        assert_eq!(Budget::usual().limit(), Nanos::from_millis(60_000));
        assert_eq!(Budget::quick().limit(), Nanos::from_millis(15_000));
    }

    #[test]
    fn launches_of_a_program_take_the_time_of_other_starts() {
        for budget in [Budget::usual(), Budget::quick(), Budget::full()] {
            let with = budget.with_program();
            assert!(with.starts() >= FEWEST_STARTS, "{with:?}");
            assert!(with.program() >= Nanos::from_millis(1_500), "{with:?}");
            assert!(total(with) + with.program() <= total(budget), "{with:?}");
            assert_eq!(with.limit(), budget.limit());
        }
        let emulated = Budget::quick().emulated();
        assert!(emulated.with_program().starts() <= emulated.starts());
    }

    #[test]
    fn there_are_always_enough_launches_for_an_interval() {
        let length = Nanos::from_millis(500);
        assert_eq!(Budget::usual().launches(length, 2), 15);
        assert_eq!(Budget::quick().launches(length, 2), 3);
        assert_eq!(Budget::quick().launches(length, 8), 1);
    }

    #[test]
    fn starts_are_spread_and_shuffled() {
        let counts = [(Delay::Launch, 3), (Delay::Lock, 12), (Delay::Ipc, 12)];
        let order = order(&counts, 7);
        for (delay, count) in counts {
            let places: Vec<usize> = (0..27).filter(|&place| order[place] == delay).collect();
            assert_eq!(places.len(), count as usize);
            // One in each stretch, so the starts of a probe reach over the whole run.
            assert!(places[0] < 27 / 2 && places[places.len() - 1] > 27 / 2, "{places:?}");
        }
        assert_ne!(order, super::order(&counts, 8));
        assert_eq!(order, super::order(&counts, 7));
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
