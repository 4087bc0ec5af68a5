//! The samples of a series in ascending order.

use unjank_measure::SeriesRecord;
use unjank_measure::record::QUANTILES;
use unjank_measure::stats::order::quantile_interval;

/// Samples by rank, as exact as the record's histogram.
#[derive(Debug, Clone)]
pub(crate) struct Distribution {
    /// Distinct values, ascending, with the number of samples up to each.
    steps: Vec<(u64, u64)>,
    n: u64,
    min: u64,
    max: u64,
}

impl Distribution {
    /// The samples of `series`; `None` if it has none, or its histogram is
    /// damaged.
    pub(crate) fn of(series: &SeriesRecord) -> Option<Self> {
        let summary = series.summary?;
        let histogram = series.histogram().ok()?;
        let mut upto = 0_u64;
        let steps: Vec<(u64, u64)> = histogram
            .iter_recorded()
            .map(|step| {
                upto = upto.saturating_add(step.count_since_last_iteration());
                (step.value_iterated_to(), upto)
            })
            .collect();
        (upto > 0).then_some(Self { steps, n: upto, min: summary.min, max: summary.max })
    }

    /// The end of the tail on the percentile axis: half of the largest sample's share,
    /// because the whole share would reach to infinity.
    pub(crate) fn reach(&self) -> f64 {
        place_of(1.0 - 0.5 / self.n as f64)
    }

    /// The step function of all samples, as positions on the percentile axis and
    /// values: each value from the share of samples below it to its own.
    pub(crate) fn stairs(&self) -> Vec<[f64; 2]> {
        let mut stairs = Vec::with_capacity(2 * self.steps.len());
        let mut from = 0.0;
        for (value, upto) in &self.steps {
            let to = place_of(*upto as f64 / self.n as f64).min(self.reach());
            let value = self.within_extremes(*value) as f64;
            stairs.extend([[from, value], [to, value]]);
            from = to;
        }
        stairs
    }

    /// Whether at least one sample lies beyond quantile `q`, so that it differs from the
    /// maximum.
    pub(crate) fn resolves(&self, q: f64) -> bool {
        // A hair less than 1: 1 − 0.9 is not exact.
        self.n as f64 * (1.0 - q) > 0.999
    }

    /// The value at quantile `q`.
    pub(crate) fn quantile(&self, q: f64) -> u64 {
        self.at_rank((q * self.n as f64).ceil() as u64)
    }

    /// The 95 % interval of quantile `q`; `None` if there are too few samples.
    pub(crate) fn interval(&self, q: f64) -> Option<[u64; 2]> {
        quantile_interval(self.n, q).map(|ranks| ranks.map(|rank| self.at_rank(rank)))
    }

    fn at_rank(&self, rank: u64) -> u64 {
        let step = self.steps.partition_point(|(_, upto)| *upto < rank.max(1));
        let (value, _) = self.steps[step.min(self.steps.len() - 1)];
        self.within_extremes(value)
    }

    /// Replaces values of the histogram's outermost buckets by the exact extremes.
    fn within_extremes(&self, value: u64) -> u64 {
        // Not `clamp`, which panics on a damaged record with min above max.
        value.min(self.max).max(self.min)
    }
}

/// The position of quantile `q` on the percentile axis: 0 for the smallest sample, 1
/// for 90 %, 2 for 99 %, 3 for 99.9 % …
pub(crate) fn place_of(q: f64) -> f64 {
    -(1.0 - q).log10()
}

/// The quantile at a position on the percentile axis.
pub(crate) fn quantile_at(place: f64) -> f64 {
    1.0 - 10_f64.powf(-place)
}

/// The summary's quantiles as positions and values, for a series whose histogram
/// cannot be read.
pub(crate) fn from_summary(series: &SeriesRecord) -> Vec<[f64; 2]> {
    let Some(summary) = series.summary else { return Vec::new() };
    let reach = (series.n as f64).log10();
    QUANTILES
        .iter()
        .zip(summary.quantiles())
        .map(|(q, value)| [place_of(*q), value as f64])
        .filter(|[place, _]| *place <= reach)
        .collect()
}

#[cfg(test)]
mod tests {
    use unjank_host::Nanos;
    use unjank_measure::Series;

    use super::*;

    fn one_to(n: u64) -> SeriesRecord {
        let mut series = Series::new("test/uniform");
        (1..=n).for_each(|value| series.record(Nanos(value)));
        series.finish()
    }

    #[test]
    fn ranks_find_their_samples() {
        let distribution = Distribution::of(&one_to(1000)).unwrap();
        assert_eq!([0.0, 0.5, 0.99, 1.0].map(|q| distribution.quantile(q)), [1, 500, 990, 1000]);
        assert!((distribution.reach() - 2000_f64.log10()).abs() < 1e-9);
        let [low, high] = distribution.interval(0.5).unwrap();
        assert!(low < 500 && 500 < high);
        assert_eq!(distribution.interval(0.9999), None);
    }

    #[test]
    fn each_sample_is_a_stair_as_wide_as_its_share() {
        let stairs = Distribution::of(&one_to(2)).unwrap().stairs();
        let (half, reach) = (2_f64.log10(), 4_f64.log10());
        let expected = [[0.0, 1.0], [half, 1.0], [half, 2.0], [reach, 2.0]];
        assert_eq!(stairs.len(), expected.len());
        for (stair, expected) in stairs.iter().flatten().zip(expected.iter().flatten()) {
            assert!((stair - expected).abs() < 1e-9, "{stairs:?}");
        }
    }

    #[test]
    fn places_count_the_nines() {
        assert!((place_of(0.9) - 1.0).abs() < 1e-12);
        assert!((place_of(0.999) - 3.0).abs() < 1e-12);
        assert!((quantile_at(place_of(0.5)) - 0.5).abs() < 1e-12);
    }

    #[test]
    fn a_damaged_histogram_leaves_the_summary() {
        let mut series = one_to(1000);
        series.histogram = "not base64!".to_owned();
        assert!(Distribution::of(&series).is_none());
        assert_eq!(from_summary(&series).len(), 4, "p99.99 needs more than 1000 samples");
    }
}
