//! The worst samples of a record, numbered for its charts and tables.

use std::cmp::Reverse;

use unjank_measure::{Outlier, RunRecord, SeriesRecord, Unit};

use crate::group::partition;
use crate::names;
use crate::visible::visible;

/// The most samples listed per series.
const PER_SERIES: usize = 12;
/// The most samples numbered in the chart of their series.
const IN_CHART: usize = 5;
/// The most samples listed in all.
const IN_ALL: usize = 150;

/// The worst samples of a record.
#[derive(Debug, Default)]
pub(crate) struct Worst<'a> {
    /// Series by series, in the order of the record.
    pub(crate) samples: Vec<Sample<'a>>,
    /// The number of further samples in the record.
    pub(crate) more: usize,
}

/// One of the worst samples.
#[derive(Debug)]
pub(crate) struct Sample<'a> {
    /// Its number within its series; the worst is 1.
    pub(crate) number: usize,
    /// The name of its series, with labels if it needs them.
    pub(crate) name: String,
    pub(crate) unit: Unit,
    pub(crate) outlier: &'a Outlier,
    series: Option<&'a SeriesRecord>,
}

impl<'a> Worst<'a> {
    /// Sorts and numbers a record's outliers.
    pub(crate) fn of(record: &'a RunRecord) -> Self {
        let outliers = &record.findings.outliers;
        let drawn: Vec<&SeriesRecord> =
            record.findings.series.iter().filter(|series| !series.slices.is_empty()).collect();
        let names =
            names::distinct(drawn.iter().map(|series| (series.name.as_str(), &series.labels)));
        let with_series: Vec<(&Outlier, Option<usize>)> =
            outliers.iter().map(|outlier| (outlier, series_of(&drawn, outlier))).collect();
        let mut samples = Vec::new();
        for mut alike in partition(with_series, |(outlier, series)| (&outlier.series, series)) {
            alike.sort_by_key(|(outlier, _)| Reverse(outlier.value));
            for (index, (outlier, series)) in alike.into_iter().take(PER_SERIES).enumerate() {
                let name = series.map(|series| names[series].clone());
                let series = series.map(|series| drawn[series]);
                samples.push(Sample {
                    number: index + 1,
                    name: name.unwrap_or_else(|| visible(&outlier.series).into_owned()),
                    unit: series.map_or(Unit::Nanoseconds, |series| series.unit),
                    outlier,
                    series,
                });
            }
        }
        samples.truncate(IN_ALL);
        let more = outliers.len() - samples.len();
        Self { samples, more }
    }

    /// Whether the cause of any sample is known.
    pub(crate) fn have_causes(&self) -> bool {
        self.samples.iter().any(|sample| sample.outlier.cause.is_some())
    }

    /// Number, time and value of the samples that a chart of `series` shows.
    pub(crate) fn for_chart(&self, series: &SeriesRecord) -> Vec<(usize, u64, u64)> {
        self.samples
            .iter()
            .filter(|sample| sample.series.is_some_and(|own| std::ptr::eq(own, series)))
            .take(IN_CHART)
            .map(|sample| (sample.number, sample.outlier.at, sample.outlier.value))
            .collect()
    }
}

/// The series of an outlier. If several series have its name and labels, the one whose
/// maximum is the outlier's value.
fn series_of(drawn: &[&SeriesRecord], outlier: &Outlier) -> Option<usize> {
    let fits = |series: &SeriesRecord| {
        series.name == outlier.series
            && outlier.labels.iter().all(|(name, value)| series.labels.get(name) == Some(value))
    };
    let named = || (0..drawn.len()).filter(|index| fits(drawn[*index]));
    let is_max =
        |index: &usize| drawn[*index].summary.is_some_and(|summary| summary.max == outlier.value);
    match named().count() {
        1 => named().next(),
        _ => named().find(is_max),
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use unjank_host::{Nanos, Timestamp};
    use unjank_measure::{Findings, Series};

    use super::*;

    fn record(series: &[(&str, u64)], outliers: &[u64]) -> RunRecord {
        let series = series.iter().map(|(placement, max)| {
            let start = Timestamp::from_nanos(0);
            let mut series = Series::new("ipc/unix")
                .with_label("placement", *placement)
                .with_course(start, Nanos(1_000));
            series.record_at(start, Nanos(*max));
            series.finish()
        });
        let outlier = |value: &u64| Outlier {
            series: "ipc/unix".to_owned(),
            labels: BTreeMap::new(),
            at: 0,
            value: *value,
            cpu: None,
            cause: None,
        };
        let findings = Findings {
            series: series.collect(),
            outliers: outliers.iter().map(outlier).collect(),
            ..Findings::default()
        };
        let json = serde_json::json!({
            "schema": "unjank.run/1", "id": "", "tool": { "version": "" }, "command": "",
            "started_at": "", "elapsed": 0, "host": {}, "settings": {},
        });
        RunRecord { findings, ..serde_json::from_value(json).unwrap() }
    }

    fn shown(worst: &Worst<'_>) -> Vec<(String, usize, u64)> {
        let sample =
            |sample: &Sample<'_>| (sample.name.clone(), sample.number, sample.outlier.value);
        worst.samples.iter().map(sample).collect()
    }

    #[test]
    fn the_worst_come_first() {
        let record = record(&[("free", 90)], &[5, 90, 40]);
        let worst = Worst::of(&record);
        let name = "ipc/unix".to_owned();
        assert_eq!(shown(&worst), [(name.clone(), 1, 90), (name.clone(), 2, 40), (name, 3, 5)]);
        assert_eq!(worst.for_chart(&record.findings.series[0]).len(), 3);
    }

    #[test]
    fn a_maximum_distinguishes_series_of_the_same_name() {
        let record = record(&[("free", 90), ("one-cpu", 70)], &[70, 90]);
        let worst = Worst::of(&record);
        assert_eq!(
            shown(&worst),
            [("ipc/unix, one-cpu".to_owned(), 1, 70), ("ipc/unix, free".to_owned(), 1, 90)]
        );
    }

    #[test]
    fn labels_distinguish_series_whatever_the_value_is() {
        let mut record = record(&[("free", 90), ("one-cpu", 70)], &[60, 80]);
        for (outlier, placement) in record.findings.outliers.iter_mut().zip(["one-cpu", "free"]) {
            outlier.labels = [("placement".to_owned(), placement.to_owned())].into();
        }
        let worst = Worst::of(&record);
        assert_eq!(
            shown(&worst),
            [("ipc/unix, one-cpu".to_owned(), 1, 60), ("ipc/unix, free".to_owned(), 1, 80)]
        );
    }

    #[test]
    fn too_many_samples_are_counted_and_not_listed() {
        let record = record(&[("free", 90)], &(0..100).collect::<Vec<_>>());
        let worst = Worst::of(&record);
        assert_eq!((worst.samples.len(), worst.more), (PER_SERIES, 100 - PER_SERIES));
    }
}
