//! Turns recordings of the application into findings.

use std::collections::BTreeMap;

use unjank_host::{Nanos, Timestamp};
use unjank_measure::{Fact, Findings, Outlier, Result, Series, StartFindings, Unit, pool};

use super::cell::{Cell, Load};
use super::recording::EventKind;
use super::trial::{Late, Trial};

/// The name of all series.
pub(crate) const WAKEUP: &str = "jitter/jvm/wakeup";
/// Late wake-ups of a cell that are listed one by one.
const LISTED: usize = 8;

/// Adds the series of a cell, facts about its pauses, and its worst wake-ups.
/// Rounds follow one another on the time axis, and each is an independent start.
///
/// # Errors
/// A histogram is damaged.
pub(crate) fn note(
    cell: &Cell,
    trials: &[Trial],
    load: &Load,
    findings: &mut Findings,
) -> Result<()> {
    let Some(first) = trials.first() else { return Ok(()) };
    for trial in trials {
        if let Some(reason) = &trial.untraced {
            findings.warn(format!("the threads that had the CPU are not known: {reason}"));
        }
    }
    let length = load.length();
    let start = first.recording.first_due;
    let labels: BTreeMap<String, String> =
        cell.labels().map(|(name, value)| (name.to_owned(), value)).into();
    let rounds = (0..)
        .zip(trials)
        .map(|(round, trial)| start_of(trial, load, start + length.times(round), &labels));
    findings.merge(pool(rounds.collect())?);
    note_facts(trials, &labels, findings);
    let mut late: Vec<(usize, &Late)> = trials
        .iter()
        .enumerate()
        .flat_map(|(round, trial)| trial.worst.iter().map(move |late| (round, late)))
        .collect();
    late.sort_by_key(|(_, late)| std::cmp::Reverse(late.by));
    findings.outliers.extend(late.into_iter().take(LISTED).map(|(round, late)| Outlier {
        series: WAKEUP.to_owned(),
        labels: labels.clone(),
        at: (length.times(round as u64) + load.period.times(late.period as u64)).get(),
        value: late.by.get(),
        cpu: None,
        cause: Some(late.story.clone()),
    }));
    Ok(())
}

/// The wake-ups of one round, which began `at` on the time axis.
fn start_of(
    trial: &Trial,
    load: &Load,
    at: Timestamp,
    labels: &BTreeMap<String, String>,
) -> StartFindings {
    let mut series = Series::new(WAKEUP).with_course(at, load.length());
    for (name, value) in labels {
        series = series.with_label(name, value);
    }
    for (period, late) in trial.recording.by_period().enumerate() {
        series.record_at(at + load.period.times(period as u64), late);
    }
    let findings = Findings { series: vec![series.finish()], ..Findings::default() };
    StartFindings { at, findings }
}

/// Counts of a cell over all its rounds.
fn note_facts(trials: &[Trial], labels: &BTreeMap<String, String>, findings: &mut Findings) {
    let fact = |name: &str, value: f64, unit| {
        let fact = Fact::new(format!("jitter/jvm/{name}"), value, unit);
        labels.iter().fold(fact, |fact, (name, value)| fact.with_label(name, value))
    };
    let (pauses, stopped) = trials
        .iter()
        .flat_map(|trial| &trial.recording.events)
        .filter(|event| event.kind == EventKind::Pause)
        .fold((0_u64, Nanos::ZERO), |(count, sum), pause| (count + 1, sum + pause.duration));
    let missed: u64 = trials.iter().map(|trial| trial.recording.missed()).sum();
    findings.facts.extend([
        fact("missed", missed as f64, Unit::Count),
        fact("pauses", pauses as f64, Unit::Count),
        fact("paused", stopped.get() as f64, Unit::Nanoseconds),
    ]);
    if trials.len() > 1 {
        findings.facts.extend(trials.iter().enumerate().filter_map(|(round, trial)| {
            let worst = trial.worst.first()?.by.get() as f64;
            let round = (round + 1).to_string();
            Some(fact("worst_of_round", worst, Unit::Nanoseconds).with_label("round", round))
        }));
    }
    let mut parts: BTreeMap<&str, (Nanos, u64)> = BTreeMap::new();
    for late in trials.iter().flat_map(|trial| &trial.worst) {
        let (time, count) = parts.entry(late.kind.name()).or_default();
        (*time, *count) = (*time + late.by, *count + 1);
    }
    let whole = parts.values().fold(Nanos::ZERO, |sum, (time, _)| sum + *time);
    findings.facts.extend(parts.into_iter().map(|(kind, (time, count))| {
        Fact {
            n: Some(count),
            ..fact("late_share", time.get() as f64 / whole.get().max(1) as f64, Unit::Ratio)
                .with_label("part", kind)
        }
    }));
}

#[cfg(test)]
mod tests {
    use unjank_host::sched::CpuSet;

    use super::super::cell::Way;
    use super::super::cell::tests::load;
    use super::super::collector::Collector;
    use super::super::jdk::Jdk;
    use super::super::recording::Recording;
    use super::super::variant::Variant;
    use super::*;

    fn trial(lateness: Nanos) -> Trial {
        let recording = Recording {
            period: Nanos::from_millis(1),
            first_due: Timestamp::from_nanos(1_000_000),
            lateness: vec![Some(lateness); 50],
            events: Vec::new(),
        };
        Trial { recording, worst: Vec::new(), untraced: None }
    }

    fn noted(trials: &[Trial]) -> unjank_measure::SeriesRecord {
        let cell = Cell {
            jdk: Jdk { home: "/jdk".into(), version: "25".to_owned(), vendor: None },
            collector: Collector::Serial,
            garbage: true,
            variant: Variant::Normal,
            cpus: CpuSet::new([0]),
        };
        let load = load(50, Nanos::from_millis(1), Way::Park);
        let mut findings = Findings::default();
        note(&cell, trials, &load, &mut findings).unwrap();
        assert_eq!(findings.series.len(), 1);
        findings.series.remove(0)
    }

    #[test]
    fn each_round_is_a_start() {
        let rounds = [100, 200, 300, 400, 500].map(|micros| trial(Nanos::from_micros(micros)));
        let series = noted(&rounds);
        let at: Vec<u64> = series.repetitions.iter().map(|start| start.at).collect();
        assert_eq!(at, [0, 50_000_000, 100_000_000, 150_000_000, 200_000_000]);
        assert_eq!((series.n, series.slices.iter().map(|it| it.n).sum::<u64>()), (250, 250));
        // As wide as the rounds differ, not as their samples would allow.
        let [low, high] = series.summary.unwrap().intervals[0].unwrap();
        assert!(low <= 200_100 && high >= 400_000, "{low} {high}");
        let one = noted(&rounds[..1]);
        assert!(one.repetitions.is_empty() && one.summary.unwrap().intervals[0].is_some());
    }
}
