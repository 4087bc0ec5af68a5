//! Where, how and when each measuring thread runs: a pure function of the
//! options.

use unjank_host::Nanos;
use unjank_host::sched::{Policy, Priority};

use super::options::{Moments, Options, Scheduling};

/// The place of one measuring thread.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Place {
    /// Which thread, from 0.
    pub(crate) index: usize,
    /// The CPU that it is kept on; `None` where the kernel chooses.
    pub(crate) cpu: Option<usize>,
    pub(crate) policy: Policy,
    pub(crate) period: Nanos,
    /// From the start of the run to its first wake-up that counts.
    pub(crate) offset: Nanos,
}

/// The places of all threads of one scheduling.
pub(crate) fn places(options: &Options, scheduling: Scheduling) -> Vec<Place> {
    let cpus: Vec<usize> = options.cpus.iter().collect();
    let share = Nanos(options.period.get() / options.threads.max(1) as u64);
    let place = |index: usize| {
        let further = index as u64;
        let period = options.period + options.distance.times(further);
        let lowered = usize::from(options.priority_step) * index;
        Place {
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
    (0..options.threads).map(place).collect()
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
        let found = places(&options(), fifo(80));
        let cpus: Vec<_> = found.iter().map(|place| place.cpu.unwrap()).collect();
        assert_eq!(cpus, [2, 5, 2]);
        let offsets: Vec<u64> = found.iter().map(|place| place.offset.get()).collect();
        assert_eq!(offsets, [0, 333_333, 666_666]);
        assert!(found.iter().all(|place| place.period == Nanos::from_millis(1)));
        let together = Options { moments: Moments::Together, ..options() };
        assert!(places(&together, fifo(80)).iter().all(|place| place.offset == Nanos::ZERO));
    }

    #[test]
    fn priorities_are_spread_downwards_and_end_at_1() {
        let spread = Options { priority_step: 1, ..options() };
        let names = |scheduling| -> Vec<String> {
            places(&spread, scheduling).iter().map(|place| place.policy.to_string()).collect()
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
        let found = places(&apart, deadline);
        assert_eq!(found[2].period, Nanos::from_millis(2));
        assert_eq!(found[2].policy.to_string(), "deadline:100000/2000000/2000000");
        assert!(found.iter().all(|place| place.cpu.is_none()), "the kernel places them");
        let early = Scheduling::Deadline {
            runtime: Nanos::from_micros(100),
            deadline: Some(Nanos::from_micros(400)),
        };
        let policy = places(&apart, early)[0].policy.to_string();
        assert_eq!(policy, "deadline:100000/400000/1000000");
    }
}
