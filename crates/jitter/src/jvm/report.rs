//! From what the application recorded to findings.

use std::collections::BTreeMap;

use unjank_host::{Nanos, Timestamp};
use unjank_measure::{Fact, Findings, Outlier, Series, Unit};

use super::cell::{Cell, Load};
use super::recording::EventKind;
use super::visit::{Late, Visit};

/// The name of all series.
pub(crate) const WAKEUP: &str = "jitter/jvm/wakeup";
/// Late wake-ups of a cell that are told one by one.
const TOLD: usize = 8;

/// Adds the series of a cell, what its collector did, and its worst wake-ups.
/// The rounds are laid one after the other.
pub(crate) fn note(cell: &Cell, visits: &[Visit], load: &Load, findings: &mut Findings) {
    let Some(first) = visits.first() else { return };
    for visit in visits {
        if let Some(reason) = &visit.untraced {
            findings.warn(format!("who had the CPU is not known: {reason}"));
        }
    }
    let length = load.length();
    let start = first.recording.first_due;
    let labels: BTreeMap<String, String> =
        cell.labels().map(|(name, value)| (name.to_owned(), value)).into();
    note_series(visits, load, start, &labels, findings);
    note_facts(visits, &labels, findings);
    let mut late: Vec<(usize, &Late)> = visits
        .iter()
        .enumerate()
        .flat_map(|(round, visit)| visit.worst.iter().map(move |late| (round, late)))
        .collect();
    late.sort_by_key(|(_, late)| std::cmp::Reverse(late.by));
    findings.outliers.extend(late.into_iter().take(TOLD).map(|(round, late)| Outlier {
        series: WAKEUP.to_owned(),
        labels: labels.clone(),
        at: (length.times(round as u64) + load.period.times(late.period as u64)).get(),
        value: late.by.get(),
        cpu: None,
        cause: Some(late.story.clone()),
    }));
}

fn note_series(
    visits: &[Visit],
    load: &Load,
    start: Timestamp,
    labels: &BTreeMap<String, String>,
    findings: &mut Findings,
) {
    let whole = load.length().times(visits.len() as u64);
    let mut series = Series::new(WAKEUP).with_course(start, whole);
    for (name, value) in labels {
        series = series.with_label(name, value);
    }
    for (round, visit) in visits.iter().enumerate() {
        let begin = start + load.length().times(round as u64);
        for (period, late) in visit.recording.by_period().enumerate() {
            series.record_at(begin + load.period.times(period as u64), late);
        }
    }
    findings.series.push(series.finish());
}

/// What can be counted of a cell, for all its rounds together.
fn note_facts(visits: &[Visit], labels: &BTreeMap<String, String>, findings: &mut Findings) {
    let fact = |name: &str, value: f64, unit| {
        let fact = Fact::new(format!("jitter/jvm/{name}"), value, unit);
        labels.iter().fold(fact, |fact, (name, value)| fact.with_label(name, value))
    };
    let (pauses, stopped) = visits
        .iter()
        .flat_map(|visit| &visit.recording.events)
        .filter(|event| event.kind == EventKind::Pause)
        .fold((0_u64, Nanos::ZERO), |(count, sum), pause| (count + 1, sum + pause.duration));
    let missed: u64 = visits.iter().map(|visit| visit.recording.missed()).sum();
    findings.facts.extend([
        fact("missed", missed as f64, Unit::Count),
        fact("pauses", pauses as f64, Unit::Count),
        fact("paused", stopped.get() as f64, Unit::Nanoseconds),
    ]);
    if visits.len() > 1 {
        findings.facts.extend(visits.iter().enumerate().filter_map(|(round, visit)| {
            let worst = visit.worst.first()?.by.get() as f64;
            let round = (round + 1).to_string();
            Some(fact("worst_of_round", worst, Unit::Nanoseconds).with_label("round", round))
        }));
    }
    let mut parts: BTreeMap<&str, (Nanos, u64)> = BTreeMap::new();
    for late in visits.iter().flat_map(|visit| &visit.worst) {
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
