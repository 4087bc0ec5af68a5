//! `unjank jitter bench`: this crate's wake-up latency against cyclictest's,
//! alternating in one run.

mod cyclictest;

use unjank_host::pm_qos::CpuLatency;
use unjank_host::sched::{CpuSet, Priority, Realtime};
use unjank_host::{Error, Nanos, Result, Root};
use unjank_measure::experiment::{Arm, Plan, Question};
use unjank_measure::record::Direction;
use unjank_measure::{Findings, Monitor, Series, Silent, Unit};

use crate::probe::{self, Options, Scheduling};
use cyclictest::Cyclictest;

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
    fn check(&self) -> Result<()> {
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

/// The smallest difference of the medians that matters.
const MIN_EFFECT: f64 = 0.05;

/// Visits cyclictest (arm A) and `jitter native` (arm B) in alternating pairs
/// and judges the difference of their median latencies.
///
/// # Errors
/// `Unsupported` without cyclictest; `Permission` without the privilege for
/// `SCHED_FIFO`.
pub fn against_cyclictest(
    comparison: &Comparison,
    root: &Root,
    seed: u64,
    monitor: &dyn Monitor,
) -> Result<Findings> {
    let condition = if comparison.dma_latency { "no-idle" } else { "idle" };
    let subject = format!("jitter/bench/{condition}/wakeup");
    comparison.check()?;
    let peer = Cyclictest::new(comparison)?;
    // Says what is missing better than cyclictest does, and before it runs.
    drop(Realtime::prepare(root, comparison.priority, false)?.enter()?);
    let plan = Plan { pairs: comparison.pairs, warm_up: 1, seed };
    let visits = plan.run(monitor, |arm| match arm {
        Arm::A => peer.run(&subject),
        Arm::B => own(comparison, &subject, root),
    })?;
    let question = Question {
        text: "Does jitter native wake as early as cyclictest?".to_owned(),
        subject,
        unit: Unit::Nanoseconds,
        better: Direction::Smaller,
        min_effect: MIN_EFFECT,
    };
    let mut findings = Findings::default();
    visits.outcome(&question).note(&mut findings);
    for (series, tool) in visits.pooled(&question).into_iter().zip(["cyclictest", "unjank"]) {
        let mut series = series;
        series.labels.insert("tool".to_owned(), tool.to_owned());
        findings.series.push(series);
    }
    Ok(findings)
}

/// One visit of `jitter native`.
fn own(comparison: &Comparison, subject: &str, root: &Root) -> Result<Series> {
    let options = Options {
        schedulings: vec![Scheduling::Fifo(comparison.priority)],
        period: comparison.period,
        ..Options::usual(CpuSet::new([comparison.cpu]), comparison.visit)
    };
    let _request =
        comparison.dma_latency.then(|| CpuLatency::at_most(root, Nanos::ZERO)).transpose()?;
    let findings = probe::run(&options, root, &Silent)?;
    if let Some(missing) = findings.unsupported.first() {
        return Err(Error::Unsupported(format!("{}: {}", missing.what, missing.reason)));
    }
    let record = findings.series.first().ok_or_else(|| no_samples("jitter native"))?;
    let histogram = record.histogram().map_err(|error| Error::Unsupported(error.to_string()))?;
    let mut series = Series::new(subject);
    for bucket in histogram.iter_recorded() {
        for _ in 0..bucket.count_at_value() {
            series.record_value(bucket.value_iterated_to());
        }
    }
    Ok(series)
}

fn no_samples(tool: &str) -> Error {
    Error::Unsupported(format!("{tool} gave no samples"))
}

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
