//! Merges the findings of several independent starts of one measurement.
//!
//! Each start is a whole run of a probe with fresh threads or processes and a
//! new placement. Series with the same name, labels and unit are merged, and
//! their intervals are those over starts
//! ([`stats::repetitions`](crate::stats::repetitions)).

mod facts;
mod order;
mod series;
mod start;
mod warnings;

pub use order::order;
pub use start::StartFindings;

use unjank_host::Nanos;

use crate::error::Result;
use crate::findings::Findings;
use crate::record::{Curve, Outlier};

/// The findings of all starts, which are in the order of their beginnings. A
/// single start is returned unchanged, with the intervals of its own samples.
///
/// # Errors
/// `Histogram` if a series is damaged.
pub fn pool(mut starts: Vec<StartFindings>) -> Result<Findings> {
    let Some(first) = starts.first().map(|start| start.at) else {
        return Ok(Findings::default());
    };
    if starts.len() == 1 {
        let mut findings = starts.remove(0).findings;
        facts::reset_pooling(&mut findings.facts);
        return Ok(findings);
    }
    let offset = |start: &StartFindings| start.at.since(first);
    let series = starts
        .iter()
        .flat_map(|start| start.findings.series.iter().map(move |series| (offset(start), series)));
    let mut pooled = Findings {
        series: series::pool(series, starts.len())?,
        facts: facts::pool(starts.iter().flat_map(|start| &start.findings.facts)),
        outliers: outliers(&starts, offset),
        curves: curves(&starts),
        ..Findings::default()
    };
    warnings::pool(&starts, &mut pooled);
    for start in starts {
        pooled.verdicts.extend(start.findings.verdicts);
        for change in start.findings.changes {
            if !pooled.changes.contains(&change) {
                pooled.changes.push(change);
            }
        }
    }
    Ok(pooled)
}

/// The worst outliers of each series, as many as the start with the most of
/// them.
fn outliers(starts: &[StartFindings], offset: impl Fn(&StartFindings) -> Nanos) -> Vec<Outlier> {
    let mut groups: Vec<(Vec<Outlier>, usize)> = Vec::new();
    for start in starts {
        let mut counts = vec![0; groups.len()];
        for outlier in &start.findings.outliers {
            let mut outlier = outlier.clone();
            outlier.at = outlier.at.saturating_add(offset(start).get());
            let same = |group: &(Vec<Outlier>, usize)| {
                let of = &group.0[0];
                of.series == outlier.series && of.labels == outlier.labels
            };
            let index = groups.iter().position(same).unwrap_or_else(|| {
                groups.push((Vec::new(), 0));
                counts.push(0);
                groups.len() - 1
            });
            groups[index].0.push(outlier);
            counts[index] += 1;
        }
        for (group, count) in groups.iter_mut().zip(counts) {
            group.1 = group.1.max(count);
        }
    }
    let worst = |(mut group, most): (Vec<Outlier>, usize)| {
        group.sort_by_key(|outlier| std::cmp::Reverse(outlier.value));
        group.truncate(most);
        group
    };
    groups.into_iter().flat_map(worst).collect()
}

/// The curves of the first start that has each. Probes with several starts draw
/// only curves that are the same in each.
fn curves(starts: &[StartFindings]) -> Vec<Curve> {
    let mut pooled: Vec<Curve> = Vec::new();
    for curve in starts.iter().flat_map(|start| &start.findings.curves) {
        let is_there = |it: &Curve| it.name == curve.name && it.labels == curve.labels;
        if !pooled.iter().any(is_there) {
            pooled.push(curve.clone());
        }
    }
    pooled
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use unjank_host::Timestamp;

    use super::*;
    use crate::record::{Fact, Unit};
    use crate::{Series, SeriesRecord};

    fn start(number: u64, samples: &[u64]) -> StartFindings {
        let at = Timestamp::from_nanos(1_000 + number * 100_000);
        let mut series = Series::new("test/time").with_course(at, Nanos(24_000));
        for (index, &sample) in samples.iter().enumerate() {
            series.record_at(at + Nanos(index as u64 * 100), Nanos(sample));
        }
        series.miss(number);
        let mut findings = Findings { series: vec![series.finish()], ..Findings::default() };
        findings.outliers.push(Outlier {
            series: "test/time".to_owned(),
            labels: BTreeMap::new(),
            at: 7,
            value: samples.iter().copied().max().unwrap_or(0),
            cpu: None,
            cause: None,
        });
        StartFindings { at, findings }
    }

    fn only(findings: &Findings) -> &SeriesRecord {
        let [series] = findings.series.as_slice() else { panic!("{:?}", findings.series) };
        series
    }

    #[test]
    fn samples_add_up_and_starts_stay_apart() {
        let starts = (0..5).map(|n| start(n, &[10 + n, 20 + n, 30 + n])).collect();
        let pooled = pool(starts).unwrap();
        let series = only(&pooled);
        let summary = series.summary.unwrap();
        assert_eq!((series.n, series.missed), (15, 1 + 2 + 3 + 4));
        assert_eq!((summary.min, summary.p50, summary.max), (10, 22, 34));
        assert_eq!(series.repetitions.len(), 5);
        let at: Vec<_> = series.repetitions.iter().map(|it| (it.at, it.n, it.missed)).collect();
        assert_eq!(at[..2], [(0, 3, 0), (100_000, 3, 1)]);
        assert_eq!(series.histogram().unwrap().len(), 15);
        assert_eq!(series.slices.iter().map(|slice| slice.n).sum::<u64>(), 15);
        assert!(series.slices.is_sorted_by_key(|slice| slice.at));
        assert_eq!(pooled.outliers, [Outlier { at: 400_007, ..pooled.outliers[0].clone() }]);
        assert_eq!(pooled.outliers[0].value, 34);
    }

    #[test]
    fn the_course_has_no_more_slices_than_that_of_one_start() {
        // Each start has a sample in each of its slices.
        let samples = vec![7; 240];
        for (starts, most) in [(2, 240), (7, 240), (100, 240), (300, 300)] {
            let pooled = pool((0..starts).map(|n| start(n, &samples)).collect()).unwrap();
            let slices = &only(&pooled).slices;
            assert!(slices.len() <= most, "{starts} starts: {}", slices.len());
            assert_eq!(slices.iter().map(|slice| slice.n).sum::<u64>(), starts * 240);
        }
    }

    #[test]
    fn the_interval_includes_the_spread_between_starts() {
        // Each start is steady by itself.
        let starts = (0..8).map(|n| start(n, &[1_000 + 100 * n; 50])).collect();
        let [low, high] = only(&pool(starts).unwrap()).summary.unwrap().intervals[0].unwrap();
        assert!(low <= 1_200 && high >= 1_500, "{low} {high}");
        let starts = (0..3).map(|n| start(n, &[1_000; 50])).collect();
        assert_eq!(only(&pool(starts).unwrap()).summary.unwrap().intervals[0], None, "too few");
    }

    #[test]
    fn one_start_is_unchanged_and_none_is_empty() {
        let one = start(0, &[10; 50]);
        assert_eq!(pool(vec![one.clone()]).unwrap(), one.findings);
        assert_eq!(pool(Vec::new()).unwrap(), Findings::default());
    }

    #[test]
    fn a_record_of_several_starts_can_be_imported() {
        let mut pooled = pool((0..5).map(|n| start(n, &[10 + n; 9])).collect()).unwrap();
        pooled.facts.push(Fact::new("test/fact", 1.0, Unit::Count));
        let run = crate::record::Run {
            tool: crate::record::Tool { version: "0".to_owned(), commit: None },
            command: "test".to_owned(),
            host: unjank_host::Machine::default(),
            settings: BTreeMap::new(),
            findings: pooled,
            labels: Vec::new(),
        };
        let record = crate::Start::now().finish(Timestamp::now(), run);
        assert_eq!(crate::RunRecord::import(&record.to_json(), "a test").unwrap(), record);
    }
}
