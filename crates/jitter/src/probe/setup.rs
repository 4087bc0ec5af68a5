//! CPU, policy, period and offset of each measuring thread: a pure function of
//! the options.

use unjank_host::Nanos;
use unjank_host::sched::{Policy, Priority};

use super::options::{Moments, Options, Scheduling};

/// The setup of one measuring thread.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct ThreadSetup {
    /// The thread's number, from 0.
    pub(crate) index: usize,
    /// The CPU that it is bound to; `None` if the kernel chooses.
    pub(crate) cpu: Option<usize>,
    pub(crate) policy: Policy,
    pub(crate) period: Nanos,
    /// Time from the start of the run to its first recorded wake-up.
    pub(crate) offset: Nanos,
}

/// The setups of all threads of one scheduling.
pub(crate) fn setups(options: &Options, scheduling: Scheduling) -> Vec<ThreadSetup> {
    let cpus: Vec<usize> = options.cpus.iter().collect();
    let share = Nanos(options.period.get() / options.threads.max(1) as u64);
    let setup = |index: usize| {
        let further = index as u64;
        let period = options.period + options.distance.times(further);
        let lowered = usize::from(options.priority_step) * index;
        ThreadSetup {
            index,
            cpu: cpus
                .get(index % cpus.len().max(1))
                .copied()
                .filter(|_| scheduling.can_be_pinned()),
            policy: lower(scheduling.policy(period), lowered),
            period,
            offset: match options.moments {
                Moments::Staggered => share.times(further),
                Moments::Together => Nanos::ZERO,
            },
        }
    };
    (0..options.threads).map(setup).collect()
}

/// The policy at a priority that is lower by `steps`, but not below 1.
fn lower(policy: Policy, steps: usize) -> Policy {
    let lowered = |priority: Priority| {
        let steps = u8::try_from(steps).unwrap_or(u8::MAX);
        Priority::new(priority.get().saturating_sub(steps).max(1)).unwrap_or(priority)
    };
    match policy {
        Policy::Fifo(priority) => Policy::Fifo(lowered(priority)),
        Policy::RoundRobin(priority) => Policy::RoundRobin(lowered(priority)),
        other => other,
    }
}

#[cfg(test)]
mod tests {
    use unjank_host::sched::CpuSet;

    use super::*;

    fn options() -> Options {
        Options { threads: 3, ..Options::usual(CpuSet::new([2, 5]), Nanos::from_millis(1_000)) }
    }

    fn fifo(priority: u8) -> Scheduling {
        Scheduling::Fifo(Priority::new(priority).unwrap())
    }

    #[test]
    fn threads_take_turns_on_the_cpus_and_in_the_period() {
        let found = setups(&options(), fifo(80));
        let cpus: Vec<_> = found.iter().map(|setup| setup.cpu.unwrap()).collect();
        assert_eq!(cpus, [2, 5, 2]);
        let offsets: Vec<u64> = found.iter().map(|setup| setup.offset.get()).collect();
        assert_eq!(offsets, [0, 333_333, 666_666]);
        assert!(found.iter().all(|setup| setup.period == Nanos::from_millis(1)));
        let together = Options { moments: Moments::Together, ..options() };
        assert!(setups(&together, fifo(80)).iter().all(|setup| setup.offset == Nanos::ZERO));
    }

    #[test]
    fn priorities_are_spread_downwards_and_end_at_1() {
        let spread = Options { priority_step: 1, ..options() };
        let names = |scheduling| -> Vec<String> {
            setups(&spread, scheduling).iter().map(|setup| setup.policy.to_string()).collect()
        };
        assert_eq!(names(fifo(80)), ["fifo:80", "fifo:79", "fifo:78"]);
        let lowest = Scheduling::RoundRobin(Priority::new(2).unwrap());
        assert_eq!(names(lowest), ["rr:2", "rr:1", "rr:1"]);
        assert_eq!(names(Scheduling::Other), ["other", "other", "other"]);
    }

    #[test]
    fn periods_grow_by_the_distance_and_deadlines_with_them() {
        let apart = Options { distance: Nanos::from_micros(500), ..options() };
        let deadline = Scheduling::Deadline { runtime: Nanos::from_micros(100), deadline: None };
        let found = setups(&apart, deadline);
        assert_eq!(found[2].period, Nanos::from_millis(2));
        assert_eq!(found[2].policy.to_string(), "deadline:100us/2ms/2ms");
        assert!(found.iter().all(|setup| setup.cpu.is_none()), "the kernel places them");
        let early = Scheduling::Deadline {
            runtime: Nanos::from_micros(100),
            deadline: Some(Nanos::from_micros(400)),
        };
        let policy = setups(&apart, early)[0].policy.to_string();
        assert_eq!(policy, "deadline:100us/400us/1ms");
    }
}
