//! The time budget of each probe, and the CPUs on which launches are measured.

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
    /// Whether launches are as short as the machine allows.
    short_launches: bool,
    /// All launches of a program that is explained.
    program: Nanos,
    swap: Starts,
    jitter: Starts,
    lock: Starts,
    ipc: Starts,
}

/// The starts of a probe other than launches.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Starts {
    pub(super) count: u32,
    /// The length of each.
    pub(super) length: Nanos,
}

/// The smallest number of launches of which one may be disturbed without any effect
/// on the interval of their median: of nine values, the second and the eighth bound
/// it.
const FEWEST_LAUNCHES: u64 = 9;
/// The smallest number of starts whose median has an interval.
const FEWEST_STARTS: u32 = 6;

impl Budget {
    /// Within one minute.
    pub(super) fn usual() -> Self {
        Self {
            name: "usual",
            limit: millis(60_000),
            launch: millis(15_000),
            short_launches: false,
            program: millis(0),
            swap: starts(12, 400),
            jitter: starts(12, 1_600),
            lock: starts(12, 400),
            ipc: starts(12, 500),
        }
    }

    /// Within 15 seconds. Tails need the most starts, medians fewer.
    pub(super) fn quick() -> Self {
        Self {
            name: "quick",
            limit: millis(15_000),
            launch: millis(3_800),
            short_launches: true,
            program: millis(0),
            swap: starts(8, 80),
            jitter: starts(12, 280),
            lock: starts(8, 80),
            ipc: starts(12, 120),
        }
    }

    /// About five minutes.
    pub(super) fn full() -> Self {
        Self {
            name: "full",
            limit: millis(312_000),
            launch: millis(60_000),
            short_launches: false,
            program: millis(0),
            swap: starts(40, 700),
            jitter: starts(40, 2_400),
            lock: starts(40, 700),
            ipc: starts(40, 800),
        }
    }

    /// For an emulated machine, where starting a process takes longer than
    /// measuring in it: fewer starts within 30 minutes.
    pub(super) fn emulated(self) -> Self {
        Self {
            limit: millis(1_800_000),
            launch: self.launch.min(millis(3_800)),
            ..self.with_counts(|starts| Starts { count: 4, ..starts })
        }
    }

    /// With launches of a program, which take the time of some other starts.
    pub(super) fn with_program(self) -> Self {
        let with = self.with_counts(|Starts { count, length }| {
            let fewer = (count - count / 6).min(count - 2).max(FEWEST_STARTS.min(count));
            Starts { count: fewer, length }
        });
        let launch = Nanos(self.launch.get() / 2);
        Self { launch, program: self.sum() - with.sum() + (self.launch - launch), ..with }
    }

    fn with_counts(self, of: impl Fn(Starts) -> Starts) -> Self {
        let Self { swap, jitter, lock, ipc, .. } = self;
        Self { swap: of(swap), jitter: of(jitter), lock: of(lock), ipc: of(ipc), ..self }
    }

    /// The length of all starts except launches.
    fn sum(&self) -> Nanos {
        [self.swap, self.jitter, self.lock, self.ipc]
            .into_iter()
            .fold(Nanos::ZERO, |sum, starts| sum + starts.length.times(u64::from(starts.count)))
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

    /// The starts of a probe; of launches, those with these options.
    pub(super) fn starts(&self, delay: Delay, launches: &unjank_launch::Options) -> Starts {
        match delay {
            Delay::Launch => Starts {
                count: self.launches(launches.length(), launches.cpus.len()),
                length: launches.length(),
            },
            Delay::Swap => self.swap,
            Delay::Jitter => self.jitter,
            Delay::Lock => self.lock,
            Delay::Ipc => self.ipc,
        }
    }

    /// How launches are measured on these CPUs. Where the kernel has a governor, it
    /// needs its time to lower and to raise the clock.
    pub(super) fn launch_options(&self, machine: &Machine, cpus: CpuSet) -> unjank_launch::Options {
        if self.short_launches && machine.frequency.is_empty() {
            unjank_launch::Options::without_governor(cpus)
        } else {
            unjank_launch::Options::usual(cpus)
        }
    }

    /// Launches on `cpus` CPUs in turn, if one takes `length`.
    fn launches(&self, length: Nanos, cpus: usize) -> u32 {
        let fitting = self.launch.get() / length.get().max(1);
        fitting.max(FEWEST_LAUNCHES).max(cpus as u64) as u32
    }
}

const fn millis(millis: u64) -> Nanos {
    Nanos::from_millis(millis)
}

const fn starts(count: u32, each: u64) -> Starts {
    Starts { count, length: millis(each) }
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
    use unjank_launch::Options;

    use super::*;

    /// The length of all starts on two CPUs, without the starting of processes.
    fn total(budget: Budget, launches: &Options) -> Nanos {
        let length = launches.length();
        length.times(u64::from(budget.launches(length, 2))) + budget.sum()
    }

    /// Launches on a machine with a governor, and on one without.
    fn kinds(budget: &Budget) -> [Options; 2] {
        let governed =
            Machine { frequency: vec![FrequencyPolicy::default()], ..Machine::default() };
        let cpus = || CpuSet::new([0, 1]);
        [governed, Machine::default()].map(|machine| budget.launch_options(&machine, cpus()))
    }

    #[test]
    fn budgets_leave_room_for_starting() {
        for budget in [Budget::usual(), Budget::quick(), Budget::full()] {
            for launches in kinds(&budget) {
                let total = total(budget, &launches);
                assert!(total.get() * 100 <= budget.limit().get() * 85, "{total} of {budget:?}");
            }
        }
        assert_eq!(Budget::usual().limit(), millis(60_000));
        assert_eq!(Budget::quick().limit(), millis(15_000));
    }

    #[test]
    fn launches_of_a_program_take_the_time_of_other_starts() {
        for budget in [Budget::usual(), Budget::quick(), Budget::full()] {
            let with = budget.with_program();
            for starts in [with.swap, with.jitter, with.lock, with.ipc] {
                assert!(starts.count >= FEWEST_STARTS, "{with:?}");
            }
            assert!(with.program() >= millis(1_500), "{with:?}");
            assert!(with.sum() + with.launch + with.program() <= budget.sum() + budget.launch);
            assert_eq!(with.limit(), budget.limit());
        }
        let emulated = Budget::quick().emulated();
        assert!(emulated.with_program().ipc.count <= emulated.ipc.count);
    }

    #[test]
    fn there_are_always_enough_launches_for_an_interval() {
        let [governed, free] = kinds(&Budget::quick());
        assert_eq!(Budget::quick().launches(governed.length(), 2), 9);
        assert_eq!(Budget::quick().launches(free.length(), 2), 20);
        assert_eq!(Budget::quick().launches(governed.length(), 12), 12);
        assert_eq!(kinds(&Budget::usual())[1].length(), governed.length());
        assert_eq!(Budget::usual().launches(governed.length(), 2), 27);
        assert_eq!(Budget::usual().emulated().launches(governed.length(), 2), 9);
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
