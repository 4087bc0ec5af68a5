//! The time budget of each probe.

use unjank_host::sched::CpuSet;
use unjank_host::{Machine, Nanos};

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
            Delay::Launch => {
                Starts { count: launches.launches_within(self.launch), length: launches.length() }
            }
            Delay::Swap => self.swap,
            Delay::Jitter => self.jitter,
            Delay::Lock => self.lock,
            Delay::Ipc => self.ipc,
        }
    }

    /// How launches are measured on these CPUs.
    pub(super) fn launch_options(&self, machine: &Machine, cpus: CpuSet) -> unjank_launch::Options {
        if self.short_launches {
            unjank_launch::Options::shortest(machine, cpus)
        } else {
            unjank_launch::Options::usual(cpus)
        }
    }
}

const fn millis(millis: u64) -> Nanos {
    Nanos::from_millis(millis)
}

const fn starts(count: u32, each: u64) -> Starts {
    Starts { count, length: millis(each) }
}

#[cfg(test)]
mod tests {
    use unjank_host::machine::FrequencyPolicy;
    use unjank_launch::Options;

    use super::*;

    /// The length of all starts on two CPUs, without the starting of processes.
    fn total(budget: Budget, launches: &Options) -> Nanos {
        let count = launches.launches_within(budget.launch);
        launches.length().times(u64::from(count)) + budget.sum()
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
        let count = |budget: &Budget, launches| budget.starts(Delay::Launch, launches).count;
        assert_eq!(count(&Budget::quick(), &governed), 9);
        assert_eq!(count(&Budget::quick(), &free), 20);
        assert_eq!(kinds(&Budget::usual())[1].length(), governed.length());
        assert_eq!(count(&Budget::usual(), &governed), 27);
        assert_eq!(count(&Budget::usual().emulated(), &governed), 9);
    }
}
