//! The worst samples of a record, numbered for its charts and tables.

use std::cmp::Reverse;

use unjank_measure::{Outlier, RunRecord, SeriesRecord};

use crate::group::partition;

/// Samples that are listed per series.
const PER_SERIES: usize = 12;
/// Samples whose numbers stand in the chart of their series.
const IN_CHART: usize = 5;
/// Samples that are listed in all.
const IN_ALL: usize = 150;

/// One of the worst samples.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Sample<'a> {
    /// Its number within its series, the worst being 1.
    pub(crate) number: usize,
    pub(crate) outlier: &'a Outlier,
    /// Its series, if the record holds exactly one that it can be from.
    pub(crate) series: Option<&'a SeriesRecord>,
}

/// The worst samples, series by series in the order of the record, and how
/// many more the record has.
pub(crate) fn worst(record: &RunRecord) -> (Vec<Sample<'_>>, usize) {
    let outliers = &record.findings.outliers;
    let mut samples = Vec::new();
    let with_series: Vec<_> =
        outliers.iter().map(|outlier| (outlier, series_of(record, outlier))).collect();
    let key = |(outlier, series): (&Outlier, Option<&SeriesRecord>)| {
        (outlier.series.clone(), series.map(std::ptr::from_ref))
    };
    for mut alike in partition(with_series, key) {
        alike.sort_by_key(|(outlier, _)| Reverse(outlier.value));
        samples.extend(
            alike
                .into_iter()
                .take(PER_SERIES)
                .enumerate()
                .map(|(index, (outlier, series))| Sample { number: index + 1, outlier, series }),
        );
    }
    samples.truncate(IN_ALL);
    let more = outliers.len() - samples.len();
    (samples, more)
}

/// Number, time and value of the samples that a chart of `series` shows.
pub(crate) fn for_chart(samples: &[Sample<'_>], series: &SeriesRecord) -> Vec<(usize, u64, u64)> {
    samples
        .iter()
        .filter(|sample| sample.series.is_some_and(|own| std::ptr::eq(own, series)))
        .take(IN_CHART)
        .map(|sample| (sample.number, sample.outlier.at, sample.outlier.value))
        .collect()
}

/// Several series may share a name and differ in labels, which an outlier does
/// not carry; its value then has to be the maximum of one of them.
fn series_of<'a>(record: &'a RunRecord, outlier: &Outlier) -> Option<&'a SeriesRecord> {
    let named = || {
        record
            .findings
            .series
            .iter()
            .filter(|series| series.name == outlier.series && !series.slices.is_empty())
    };
    let is_max =
        |series: &&SeriesRecord| series.summary.is_some_and(|summary| summary.max == outlier.value);
    match named().count() {
        1 => named().next(),
        _ => named().find(is_max),
    }
}
