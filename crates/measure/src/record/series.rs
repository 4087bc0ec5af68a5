//! A distribution, as a run record holds it.

use std::collections::BTreeMap;

use hdrhistogram::Histogram;
use serde::{Deserialize, Serialize};

use crate::error::{Error, Result};
use crate::record::packed;
use crate::record::unit::Unit;
use crate::stats::{Empirical, Mode, Repetitions, modes, repetitions};

/// The quantiles that a [`Summary`] holds, in its order.
pub const QUANTILES: [f64; 5] = [0.5, 0.9, 0.99, 0.999, 0.9999];

/// One of the [`QUANTILES`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Percentile {
    /// The median.
    P50,
    /// The 90th.
    P90,
    /// The 99th.
    P99,
    /// The 99.9th.
    P99_9,
    /// The 99.99th.
    P99_99,
}

/// A distribution of samples.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct SeriesRecord {
    /// A path that begins with the delay: `jitter/native/fifo/wakeup`.
    pub name: String,
    /// The unit of the samples.
    pub unit: Unit,
    /// Labels that tell it from series of the same name: `cpu`, `backing` …
    #[serde(default)]
    pub labels: BTreeMap<String, String>,
    /// Samples recorded.
    pub n: u64,
    /// Periods that passed without a sample, because the one before was late.
    pub missed: u64,
    /// The usual quantiles; `null` without samples.
    pub summary: Option<Summary>,
    /// All samples: an HdrHistogram in its V2 compressed form, base64.
    pub histogram: String,
    /// The course over the run, in slices of equal length; empty if it was not
    /// recorded.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub slices: Vec<Slice>,
    /// The same samples by independent start, in order; empty if there was only
    /// one start.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub repetitions: Vec<Repetition>,
}

/// The samples of one independent start of a measurement, with fresh threads or
/// processes and a new placement.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Repetition {
    /// Its beginning, in nanoseconds since that of the first start.
    pub at: u64,
    /// Samples in it.
    pub n: u64,
    /// Periods that passed without a sample.
    pub missed: u64,
    /// Its samples, in the form of the series' `histogram`.
    pub histogram: String,
}

/// Quantiles of a distribution, exact to the histogram's three digits; `min`
/// and `max` exact.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Summary {
    /// The smallest sample, in the unit of the series.
    pub min: u64,
    /// The median.
    pub p50: u64,
    /// The 90th percentile.
    pub p90: u64,
    /// The 99th percentile.
    pub p99: u64,
    /// The 99.9th percentile.
    #[serde(rename = "p99.9")]
    pub p99_9: u64,
    /// The 99.99th percentile.
    #[serde(rename = "p99.99")]
    pub p99_99: u64,
    /// The largest sample, in the unit of the series.
    pub max: u64,
    /// 95 % intervals of the five quantiles: over independent starts if there
    /// are several, else from order statistics; `null` if the data does not
    /// bound the quantile.
    pub intervals: [Option<[u64; 2]>; 5],
}

/// The samples of one stretch of a run.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Slice {
    /// Start, in nanoseconds since the series began.
    pub at: u64,
    /// Samples in it.
    pub n: u64,
    /// The smallest sample in it.
    pub min: u64,
    /// The median, to about 1 %.
    pub p50: u64,
    /// The largest sample in it.
    pub max: u64,
}

impl SeriesRecord {
    /// All samples.
    ///
    /// # Errors
    /// `Histogram` if the text does not decode to `n` samples.
    pub fn histogram(&self) -> Result<Histogram<u64>> {
        packed::unpack(&self.histogram, self.n)
            .map_err(|reason| Error::Histogram { series: self.name.clone(), reason })
    }

    /// The distribution of all samples.
    ///
    /// # Errors
    /// As [`histogram`](Self::histogram).
    pub fn empirical(&self) -> Result<Empirical> {
        let [min, max] = self.summary.map_or([0, u64::MAX], |summary| [summary.min, summary.max]);
        Ok(Empirical::new(&self.histogram()?, min, max))
    }

    /// Its independent starts; `None` if there are too few to estimate their
    /// spread.
    ///
    /// # Errors
    /// `Histogram` if one of them is damaged.
    pub fn starts(&self) -> Result<Option<Repetitions>> {
        if self.repetitions.len() < repetitions::FEWEST {
            return Ok(None);
        }
        Ok(Repetitions::new(&self.by_start()?))
    }

    /// The lower end of the 95 % interval of the q-quantile over independent starts,
    /// which may have no upper end. `None` without several starts.
    pub fn lower_end(&self, q: f64) -> Option<f64> {
        Some(self.starts().ok()??.lower_end(q)? as f64)
    }

    /// The two values at which the medians of its starts cluster, if they do.
    pub fn modes(&self) -> Option<[Mode; 2]> {
        let starts = self.by_start().ok()?;
        let medians: Vec<f64> =
            starts.iter().filter(|it| it.n() > 0).map(|it| it.quantile(0.5) as f64).collect();
        modes::of(&medians)
    }

    /// A note on its starts, if there are several: `8 independent starts`, with
    /// the two values at which they cluster, if they do.
    pub fn starts_note(&self) -> Option<String> {
        let count = self.repetitions.iter().filter(|start| start.n > 0).count();
        let starts = (count > 1).then(|| format!("{count} independent starts"))?;
        Some(match self.modes() {
            Some([low, high]) => format!(
                "{starts} gather at two values: {} in {}, {} in {}",
                self.unit.show(low.value),
                low.starts,
                self.unit.show(high.value),
                high.starts
            ),
            None => starts,
        })
    }

    /// The histogram of each start.
    ///
    /// # Errors
    /// `Histogram` if one of them is damaged.
    pub fn histograms_by_start(&self) -> Result<Vec<Histogram<u64>>> {
        let unpack = |it: &Repetition| {
            packed::unpack(&it.histogram, it.n)
                .map_err(|reason| Error::Histogram { series: self.name.clone(), reason })
        };
        self.repetitions.iter().map(unpack).collect()
    }

    /// The samples of each start.
    pub(crate) fn by_start(&self) -> Result<Vec<Empirical>> {
        let [min, max] = self.summary.map_or([0, u64::MAX], |summary| [summary.min, summary.max]);
        let histograms = self.histograms_by_start()?;
        Ok(histograms.iter().map(|it| Empirical::new(it, min, max)).collect())
    }

    /// The text form of a histogram.
    pub(crate) fn encode(histogram: &Histogram<u64>) -> String {
        packed::pack(histogram)
    }

    /// The share of missed periods among all that were due.
    pub fn missed_share(&self) -> f64 {
        let due = self.n.saturating_add(self.missed);
        if due == 0 { 0.0 } else { self.missed as f64 / due as f64 }
    }
}

impl SeriesRecord {
    /// The five quantiles of [`QUANTILES`], in order: `None` if the series has
    /// too few samples to tell one from its maximum.
    pub fn quantiles_known(&self) -> [Option<u64>; 5] {
        let quantiles = self.summary.map(|summary| summary.quantiles());
        [0, 1, 2, 3, 4].map(|index| {
            let beyond = self.n as f64 * (1.0 - QUANTILES[index]);
            // A hair less than 1: 1 − 0.9 is not exact.
            quantiles.filter(|_| beyond > 0.999).map(|quantiles| quantiles[index])
        })
    }
}

impl Summary {
    /// The five quantiles of [`QUANTILES`], in order.
    pub fn quantiles(&self) -> [u64; 5] {
        [self.p50, self.p90, self.p99, self.p99_9, self.p99_99]
    }
}
