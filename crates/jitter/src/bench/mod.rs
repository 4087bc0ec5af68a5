//! `unjank jitter bench`: compares wake-up latencies of `jitter native` and
//! cyclictest, alternating in one run.

mod comparison;
mod cyclictest;

pub use comparison::Comparison;

use unjank_host::pm_qos::CpuLatency;
use unjank_host::sched::{CpuSet, Realtime};
use unjank_host::{Error, Nanos, Result, Root};
use unjank_measure::experiment::{Arm, Plan, Question};
use unjank_measure::record::Direction;
use unjank_measure::{Findings, Monitor, Series, Silent, Unit};

use crate::probe::{self, Options, Scheduling};
use cyclictest::Cyclictest;

/// Smaller differences of the medians are ignored (0.05 is 5 %).
const MIN_EFFECT: f64 = 0.05;

/// Runs cyclictest (arm A) and `jitter native` (arm B) in alternating pairs and
/// judges the difference of their median latencies.
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
    // Fails before cyclictest runs, and with a better message.
    drop(Realtime::prepare(root, comparison.priority, false)?.enter()?);
    let plan = Plan { pairs: comparison.pairs, warm_up: 1, seed };
    let trials = plan.run(monitor, |arm| match arm {
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
    trials.conclude(&question).note(&mut findings);
    for (series, tool) in trials.pooled(&question).into_iter().zip(["cyclictest", "unjank"]) {
        let mut series = series;
        series.labels.insert("tool".to_owned(), tool.to_owned());
        findings.series.push(series);
    }
    Ok(findings)
}

/// One trial of `jitter native`.
fn own(comparison: &Comparison, subject: &str, root: &Root) -> Result<Series> {
    let options = Options {
        schedulings: vec![Scheduling::Fifo(comparison.priority)],
        period: comparison.period,
        ..Options::usual(CpuSet::new([comparison.cpu]), comparison.trial)
    };
    let _request =
        comparison.dma_latency.then(|| CpuLatency::at_most(root, Nanos::ZERO)).transpose()?;
    let findings = probe::run(&options, root, &Silent)?;
    if let Some(missing) = findings.unsupported.first() {
        return Err(Error::Unsupported(format!("{}: {}", missing.what, missing.reason)));
    }
    let record = findings
        .series
        .first()
        .ok_or_else(|| Error::Unsupported("jitter native gave no samples".to_owned()))?;
    let histogram = record.histogram().map_err(|error| Error::Unsupported(error.to_string()))?;
    let mut series = Series::new(subject);
    for bucket in histogram.iter_recorded() {
        for _ in 0..bucket.count_at_value() {
            series.record_value(bucket.value_iterated_to());
        }
    }
    Ok(series)
}
