//! Options of `launch ramp`.

use unjank_host::sched::CpuSet;
use unjank_host::{Error, Nanos, Result};

/// What `launch ramp` measures.
#[derive(Debug, Clone)]
pub struct Options {
    /// CPUs, measured one after the other.
    pub cpus: CpuSet,
    /// Launches on each CPU.
    pub launches: u32,
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
    /// A gap of 200 ms, 300 ms of work, slices of 100 µs.
    pub fn usual(cpus: CpuSet, launches: u32) -> Self {
        Self {
            cpus,
            launches,
            gap: Nanos::from_millis(200),
            run: Nanos::from_millis(300),
            slice: Nanos::from_micros(100),
            chunk: Nanos::from_micros(2),
        }
    }

    /// The longest work of a launch: its pieces are kept in memory.
    pub const LONGEST_RUN: Nanos = Nanos::from_millis(10_000);

    pub(crate) fn check(&self, allowed: &CpuSet) -> Result<()> {
        let wrong = |what: String| Err(Error::Invalid(what));
        if self.cpus.is_empty() || self.launches == 0 {
            return wrong("at least one CPU and one launch are needed".to_owned());
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
        let good = Options::usual(one.clone(), 1);
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
        assert!(says(Options { launches: 0, ..good.clone() }).starts_with("at least one CPU"));
        assert!(says(Options { cpus: CpuSet::new([9]), ..good }).starts_with("CPU 9"));
    }
}
