//! The cost of a clock read and the clock's resolution. Calibrated before a run
//! and printed with it; never subtracted.

use unjank_host::{Nanos, Timestamp};

use crate::findings::Findings;
use crate::record::{Fact, Unit};

/// Read cost and resolution of `CLOCK_MONOTONIC`.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ClockCost {
    /// One read of `CLOCK_MONOTONIC`, in nanoseconds: the median of
    /// [`BATCHES`] batches of [`READS`] reads.
    pub read_ns: f64,
    /// The smallest step seen between two reads.
    pub step: Nanos,
}

/// Batches per calibration.
pub const BATCHES: usize = 31;
/// Clock reads per batch.
pub const READS: u32 = 1_000;

impl ClockCost {
    /// Calibrates on the calling thread, in about a millisecond.
    pub fn calibrate() -> Self {
        let mut step = Nanos(u64::MAX);
        let mut batches: Vec<f64> = (0..BATCHES)
            .map(|_| {
                let start = Timestamp::now();
                let mut last = start;
                for _ in 0..READS {
                    let now = Timestamp::now();
                    if now > last {
                        step = step.min(now.since(last));
                    }
                    last = now;
                }
                last.since(start).get() as f64 / f64::from(READS)
            })
            .collect();
        batches.sort_by(f64::total_cmp);
        Self { read_ns: batches[BATCHES / 2], step }
    }

    /// Adds the calibration to a probe's findings.
    pub fn note(self, findings: &mut Findings) {
        findings.facts.push(Fact::new("clock/read", self.read_ns, Unit::Nanoseconds));
        findings.facts.push(Fact::new("clock/step", self.step.get() as f64, Unit::Nanoseconds));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_clock_read_costs_something_and_ticks() {
        let cost = ClockCost::calibrate();
        assert!(cost.read_ns > 0.0, "{cost:?}");
        assert!(cost.step.get() < 1_000_000_000, "{cost:?}");
    }
}
