//! How cyclictest and `jitter native` are compared.

use unjank_host::sched::Priority;
use unjank_host::{Error, Nanos, Result};

/// How to compare.
#[derive(Debug, Clone)]
pub struct Comparison {
    /// Where both measure, in turn.
    pub cpu: usize,
    /// The real-time priority of both.
    pub priority: Priority,
    /// The period of both.
    pub period: Nanos,
    /// The length of one visit.
    pub visit: Nanos,
    /// Pairs of visits.
    pub pairs: usize,
    /// Keep CPUs out of idle states for both, as cyclictest does by itself;
    /// otherwise it is told not to (`--laptop`).
    pub dma_latency: bool,
}

impl Comparison {
    /// Both tools must be able to do the same.
    pub(super) fn check(&self) -> Result<()> {
        if !self.period.get().is_multiple_of(1_000) {
            return Err(Error::Invalid(format!(
                "cyclictest knows whole microseconds: no period of {} ns",
                self.period.get()
            )));
        }
        if self.visit < self.period.times(FEWEST_WAKE_UPS) {
            return Err(Error::Invalid(format!(
                "a visit of {} is too short: at least {FEWEST_WAKE_UPS} periods of {} must fit",
                self.visit, self.period
            )));
        }
        if self.pairs == 0 {
            return Err(Error::Invalid("no pair of visits to compare".to_owned()));
        }
        Ok(())
    }
}

/// The fewest wake-ups of a visit that have a median worth comparing.
const FEWEST_WAKE_UPS: u64 = 10;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cyclictest_is_never_asked_for_no_wake_up_at_all() {
        // It would take 0 wake-ups for endless ones.
        let good = Comparison {
            cpu: 0,
            priority: Priority::new(80).unwrap(),
            period: Nanos::from_millis(1),
            visit: Nanos::from_millis(10),
            pairs: 1,
            dma_latency: false,
        };
        assert!(good.check().is_ok());
        let says = |comparison: Comparison| comparison.check().unwrap_err().to_string();
        assert_eq!(
            says(Comparison { visit: Nanos::from_micros(500), ..good.clone() }),
            "a visit of 500 µs is too short: at least 10 periods of 1.00 ms must fit"
        );
        assert!(says(Comparison { period: Nanos(50_500), ..good.clone() }).contains("50500 ns"));
        assert!(says(Comparison { pairs: 0, ..good }).contains("no pair"));
    }
}
