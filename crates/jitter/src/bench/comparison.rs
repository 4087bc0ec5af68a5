//! Parameters of the comparison of cyclictest and `jitter native`.

use unjank_host::sched::Priority;
use unjank_host::{Error, Nanos, Result};

/// Parameters that both tools share.
#[derive(Debug, Clone)]
pub struct Comparison {
    /// The CPU on which both measure in turn.
    pub cpu: usize,
    /// Real-time priority.
    pub priority: Priority,
    /// Time between two wake-ups.
    pub period: Nanos,
    /// Length of one trial.
    pub trial: Nanos,
    /// Pairs of trials.
    pub pairs: usize,
    /// Keep CPUs out of idle states, as cyclictest does by default. Without it,
    /// cyclictest runs with `--laptop`.
    pub dma_latency: bool,
}

impl Comparison {
    /// Checks that both tools can measure with these parameters.
    pub(super) fn check(&self) -> Result<()> {
        if !self.period.get().is_multiple_of(1_000) {
            return Err(Error::Invalid(format!(
                "cyclictest needs a period of whole microseconds, not {} ns",
                self.period.get()
            )));
        }
        if self.trial < self.period.times(FEWEST_WAKE_UPS) {
            return Err(Error::Invalid(format!(
                "--trial {} is too short: at least {FEWEST_WAKE_UPS} periods of {} must fit",
                self.trial, self.period
            )));
        }
        if self.pairs == 0 {
            return Err(Error::Invalid("--pairs must be at least 1".to_owned()));
        }
        Ok(())
    }
}

/// The fewest wake-ups of a trial with a median worth comparing.
const FEWEST_WAKE_UPS: u64 = 10;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_trial_never_has_zero_wake_ups() {
        // For cyclictest, 0 wake-ups means endless.
        let good = Comparison {
            cpu: 0,
            priority: Priority::new(80).unwrap(),
            period: Nanos::from_millis(1),
            trial: Nanos::from_millis(10),
            pairs: 1,
            dma_latency: false,
        };
        assert!(good.check().is_ok());
        let says = |comparison: Comparison| comparison.check().unwrap_err().to_string();
        assert_eq!(
            says(Comparison { trial: Nanos::from_micros(500), ..good.clone() }),
            "--trial 500 µs is too short: at least 10 periods of 1.00 ms must fit"
        );
        assert!(says(Comparison { period: Nanos(50_500), ..good.clone() }).contains("50500 ns"));
        assert!(says(Comparison { pairs: 0, ..good }).contains("at least 1"));
    }
}
