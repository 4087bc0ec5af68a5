//! Options of `launch ramp`.

use serde::{Deserialize, Serialize};
use unjank_host::sched::CpuSet;
use unjank_host::{Error, Machine, Nanos, Result};

/// The smallest number of launches of which one may be disturbed without any effect
/// on the interval of their median: of nine values, the second and the eighth bound
/// it.
const FEWEST: u64 = 9;

/// Options of `launch ramp`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Options {
    /// CPUs, measured one after the other.
    pub cpus: CpuSet,
    /// Work before the idle gap, by which the pieces get their length.
    pub calibration: Nanos,
    /// Idle time before each launch.
    pub gap: Nanos,
    /// Length of the work of each launch.
    pub run: Nanos,
    /// Resolution of the curve of speed against time.
    pub slice: Nanos,
    /// Length of the pieces that are timed, at full speed.
    pub chunk: Nanos,
}

impl Options {
    /// A gap of 200 ms, 300 ms of work, slices of 100 µs: long enough for a
    /// governor that looks at the load every 100 ms.
    pub fn usual(cpus: CpuSet) -> Self {
        Self {
            cpus,
            calibration: Nanos::from_millis(50),
            gap: Nanos::from_millis(200),
            run: Nanos::from_millis(300),
            slice: Nanos::from_micros(100),
            chunk: Nanos::from_micros(2),
        }
    }

    /// The shortest launches on this machine: a gap of 80 ms and 100 ms of work, six
    /// frames at 60 Hz. A governor, where the kernel has one, needs its usual time to
    /// lower and to raise the clock.
    pub fn shortest(machine: &Machine, cpus: CpuSet) -> Self {
        if !machine.frequency.is_empty() {
            return Self::usual(cpus);
        }
        Self {
            calibration: Nanos::from_millis(10),
            gap: Nanos::from_millis(80),
            run: Nanos::from_millis(100),
            ..Self::usual(cpus)
        }
    }

    /// Time of one launch.
    pub fn length(&self) -> Nanos {
        self.calibration + self.gap + self.run
    }

    /// The number of launches, on the CPUs in turn, that fit into `time`: at least one
    /// on each CPU, and enough for an interval.
    pub fn launches_within(&self, time: Nanos) -> u32 {
        let fitting = time.get() / self.length().get().max(1);
        fitting.max(FEWEST).max(self.cpus.len() as u64) as u32
    }

    /// The CPU of launch number `start`. Each CPU in turn is the first of a round.
    pub fn cpu_of_start(&self, start: u32) -> usize {
        let (start, count) = (start as usize, self.cpus.len().max(1));
        self.cpus.one(start / count + start % count).unwrap_or(0)
    }

    /// The longest work of a launch: its pieces are kept in memory.
    pub const LONGEST_RUN: Nanos = Nanos::from_millis(10_000);

    /// Checks that launches are possible with these options.
    ///
    /// # Errors
    /// `Invalid`, also for a CPU that this process may not use.
    pub fn check_here(&self) -> Result<()> {
        self.check(&CpuSet::allowed()?)
    }

    fn check(&self, allowed: &CpuSet) -> Result<()> {
        let wrong = |what: String| Err(Error::Invalid(what));
        if self.cpus.is_empty() {
            return wrong("at least one CPU is needed".to_owned());
        }
        if self.chunk < Nanos(500) || self.slice < self.chunk.times(10) {
            return wrong(format!(
                "slices of {} are too short: at least 10 pieces of {} must fit",
                self.slice,
                self.chunk.max(Nanos(500))
            ));
        }
        if self.run < self.slice.times(10) || self.run > Self::LONGEST_RUN {
            return wrong(format!(
                "work of {} per launch is out of range (10 slices of {} to {})",
                self.run,
                self.slice,
                Self::LONGEST_RUN
            ));
        }
        self.cpus.clone().within(allowed).map(|_| ())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn wrong_options_are_refused_in_one_sentence() {
        let one = CpuSet::new([0]);
        let good = Options::usual(one.clone());
        assert!(good.check(&one).is_ok());
        let says = |options: Options| options.check(&one).unwrap_err().to_string();
        assert_eq!(
            says(Options { run: Nanos::from_micros(900), ..good.clone() }),
            "work of 900 µs per launch is out of range (10 slices of 100 µs to 10.0 s)"
        );
        assert_eq!(
            says(Options { slice: Nanos::from_micros(10), ..good.clone() }),
            "slices of 10.0 µs are too short: at least 10 pieces of 2.00 µs must fit"
        );
        let none = Options { cpus: CpuSet::default(), ..good.clone() };
        assert!(says(none).starts_with("at least one CPU"));
        assert!(says(Options { cpus: CpuSet::new([9]), ..good }).starts_with("CPU 9"));
    }

    #[test]
    fn there_are_always_enough_launches_for_an_interval_and_one_on_each_cpu() {
        let count = |cpus: usize, millis: u64| {
            Options::usual(CpuSet::new(0..cpus)).launches_within(Nanos::from_millis(millis))
        };
        assert_eq!([count(2, 15_000), count(2, 3_800), count(12, 3_800)], [27, 9, 12]);
    }

    #[test]
    fn each_cpu_in_turn_is_the_first_of_a_round() {
        let options = Options::usual(CpuSet::new([0, 2, 5]));
        let cpus: Vec<usize> = (0..9).map(|start| options.cpu_of_start(start)).collect();
        assert_eq!(cpus, [0, 2, 5, 2, 5, 0, 5, 0, 2]);
    }
}
