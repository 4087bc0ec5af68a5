//! The effective sample size: the number of independent samples that carry as much
//! information as a run.
//!
//! Consecutive samples are alike: a slow stretch yields many slow samples, and
//! a hundred of them carry little more information than one. The design effect
//! (Kish, *Survey Sampling*, section 8.2) is the variance of an estimate over
//! its variance with independent samples; n divided by it is the effective n.
//! It is estimated from the slices of a series, in two ways:
//!
//! - **The centre.** Each slice's median is looked up in the distribution of
//!   the whole run, which gives a number from 0 to 1. Averages of these over
//!   [`GROUPS`] stretches (batch means: Law and Kelton, *Simulation Modeling
//!   and Analysis*, section 9.5) would have a known variance if samples were
//!   independent. The observed variance over that one is the design effect.
//! - **The tail.** Independent samples above a threshold would fall into a
//!   known number of slices. They fall into fewer slices if they come in
//!   clusters. This is the blocks estimator of the extremal index θ (Embrechts,
//!   Klüppelberg and Mikosch, *Modelling Extremal Events*, section 8.1); for
//!   clusters of geometric size the variance of their number grows by 2/θ − 1.
//!
//! Dependence longer than the run cannot be seen within the run: two runs an
//! hour apart differ by more than their intervals suggest.

use hdrhistogram::Histogram;

use super::empirical::Empirical;
use super::random::seeded;
use crate::record::Slice;
use crate::series::LARGEST;

/// Stretches that a run is cut into for batch means.
pub const GROUPS: usize = 30;

/// The fewest slices from which dependence is estimated.
const FEWEST_SLICES: usize = 20;

/// Simulated medians per slice.
const MEDIANS: usize = 16;

/// The tail is judged only if this share of the blocks, or fewer, hold a
/// sample of it; beyond that, clusters and single samples look alike.
const MOST_BLOCKS_HIT: f64 = 0.9;

/// The serial dependence of the samples of one series.
#[derive(Debug, Clone, PartialEq)]
pub struct Dependence<'a> {
    samples: &'a Empirical,
    slices: &'a [Slice],
    centre: f64,
}

impl<'a> Dependence<'a> {
    /// The dependence that the course of a series shows; `None` if there is no
    /// course, or too short a one.
    pub fn new(samples: &'a Empirical, slices: &'a [Slice]) -> Option<Self> {
        let enough = slices.iter().filter(|slice| slice.n > 0).count() >= FEWEST_SLICES;
        enough.then(|| Self { samples, slices, centre: centre(samples, slices) })
    }

    /// The design effect for the q-quantile, at least 1.
    pub fn design_effect(&self, q: f64) -> f64 {
        let threshold = self.samples.quantile(q);
        let block = self.slices.len().div_ceil(GROUPS);
        let tail = [1, block].map(|block| tail(self.samples, self.slices, threshold, block));
        // If many samples equal the quantile, those above it are too few to
        // move it.
        let above = self.samples.above(threshold) as f64 / self.samples.n().max(1) as f64;
        let tail = if above < (1.0 - q) / 2.0 { [1.0; 2] } else { tail };
        tail.into_iter().fold(self.centre, f64::max)
    }

    /// The number of independent samples that would bound the q-quantile as
    /// well as this run does.
    pub fn effective_n(&self, q: f64) -> f64 {
        let n = self.samples.n() as f64;
        (n / self.design_effect(q)).max(n.min(1.0))
    }
}

/// The design effect of the centre.
fn centre(samples: &Empirical, slices: &[Slice]) -> f64 {
    let ranks = MedianRank::of_medians(samples, slices);
    let single = ratio(&ranks, 1);
    let stretches = ratio(&ranks, ranks.len().div_ceil(GROUPS));
    // Medians of slices that are each worth only a sample or two vary less than
    // shares do, and a quantile's error comes from shares: the variance of a
    // median of m samples is 1/(4 (m + 2)), that of a share 1/(4 m).
    let n = ranks.iter().map(|rank| rank.n).sum::<f64>() / ranks.len().max(1) as f64;
    let worth = n / (n + 2.0 - 2.0 * single);
    let saturated = if worth > 0.0 { worth.clamp(1.0, 3.0) } else { 3.0 };
    (stretches * saturated).max(1.0)
}

/// The rank of a slice's median in the distribution of the whole run.
struct MedianRank {
    /// Samples in the slice.
    n: f64,
    /// From 0 to 1.
    at: f64,
    /// The variance of `at` if samples were independent.
    variance: f64,
}

impl MedianRank {
    fn of_medians(samples: &Empirical, slices: &[Slice]) -> Vec<Self> {
        let buckets = Buckets::new();
        let mut random = seeded(0, "slice medians");
        let mut ranks: Vec<Self> = slices
            .iter()
            .filter(|slice| slice.n > 0)
            .map(|slice| {
                let medians: Vec<f64> = samples
                    .medians(slice.n, &mut random)
                    .take(MEDIANS)
                    .map(|median| buckets.rank_of(samples, median))
                    .collect();
                let at = buckets.rank_of(samples, slice.p50);
                Self { n: slice.n as f64, at, variance: variance_of(&medians) }
            })
            .collect();
        // A smooth distribution has the variance of Beta(n/2, n/2 + 1). Lumps
        // increase it, as the median jumps between two of them, which is not
        // dependence. Lumps that decrease it are ignored: with a median that
        // never moved by chance, a single odd slice would be infinitely
        // unlikely.
        let smooth = |rank: &Self| 0.25 / (rank.n + 2.0);
        let simulated: f64 = ranks.iter().map(|rank| rank.variance).sum();
        let missing = ranks.iter().map(smooth).sum::<f64>() - simulated;
        if missing > 0.0 {
            for rank in &mut ranks {
                rank.variance = smooth(rank);
            }
        }
        ranks
    }
}

/// The variance between weighted means of `length` ranks each, over its value
/// for independent samples.
fn ratio(ranks: &[MedianRank], length: usize) -> f64 {
    let (mut means, mut expected) = (Vec::new(), 0.0);
    for stretch in ranks.chunks(length.max(1)) {
        let n: f64 = stretch.iter().map(|rank| rank.n).sum();
        means.push(stretch.iter().map(|rank| rank.at * rank.n / n).sum::<f64>());
        expected += stretch.iter().map(|p| p.variance * (p.n / n).powi(2)).sum::<f64>();
    }
    let expected = expected / means.len().max(1) as f64;
    if expected > 0.0 { variance_of(&means) / expected } else { 1.0 }
}

/// The design effect of the samples above `threshold`, over blocks of `block`
/// slices.
fn tail(samples: &Empirical, slices: &[Slice], threshold: u64, block: usize) -> f64 {
    let share = samples.above(threshold) as f64 / samples.n().max(1) as f64;
    let blocks: Vec<(f64, bool)> = slices
        .chunks(block.max(1))
        .map(|block| {
            let n: f64 = block.iter().map(|slice| slice.n as f64).sum();
            (n, block.iter().any(|slice| slice.n > 0 && slice.max > threshold))
        })
        .collect();
    let hit = blocks.iter().filter(|&&(_, hit)| hit).count() as f64;
    if hit == 0.0 || share >= 1.0 || hit > MOST_BLOCKS_HIT * blocks.len() as f64 {
        return 1.0;
    }
    let expected = |index: f64| -> f64 {
        blocks.iter().map(|(n, _)| 1.0 - (index * n * (1.0 - share).ln()).exp()).sum()
    };
    let (mut low, mut high) = (0.0, 1.0);
    for _ in 0..40 {
        let middle = f64::midpoint(low, high);
        if expected(middle) < hit {
            low = middle;
        } else {
            high = middle;
        }
    }
    2.0 / high - 1.0
}

fn variance_of(values: &[f64]) -> f64 {
    let n = values.len() as f64;
    if n < 2.0 {
        return 0.0;
    }
    let mean = values.iter().sum::<f64>() / n;
    values.iter().map(|value| (value - mean).powi(2)).sum::<f64>() / (n - 1.0)
}

/// The buckets of the slices' medians: two digits.
struct Buckets(Histogram<u8>);

impl Buckets {
    fn new() -> Self {
        let histogram = Histogram::new_with_bounds(1, LARGEST, 2);
        Self(histogram.expect("1 to 2^42 with two digits are valid bounds"))
    }

    /// The rank, from 0 to 1, of the middle of the bucket around `value` among
    /// the samples.
    fn rank_of(&self, samples: &Empirical, value: u64) -> f64 {
        let value = value.min(LARGEST);
        let low = self.0.lowest_equivalent(value);
        let up_to = |value| samples.n() - samples.above(value);
        let below = low.checked_sub(1).map_or(0, up_to);
        let within = up_to(self.0.highest_equivalent(value));
        f64::midpoint(below as f64, within as f64) / samples.n().max(1) as f64
    }
}

#[cfg(test)]
mod tests {
    use rand::RngExt as _;
    use rand_distr::{Distribution as _, StandardNormal};
    use unjank_host::{Nanos, Timestamp};

    use super::*;
    use crate::Series;
    use crate::stats::random::Random;

    /// `n` samples, one per microsecond, through a real series.
    fn course(n: u64, mut sample: impl FnMut(&mut Random) -> f64) -> (Empirical, Vec<Slice>) {
        let start = Timestamp::from_nanos(0);
        let mut series = Series::new("test").with_course(start, Nanos::from_micros(n));
        let mut random = seeded(11, "samples");
        for i in 0..n {
            let at = start + Nanos::from_micros(i);
            series.record_at(at, Nanos(sample(&mut random).max(0.0) as u64));
        }
        let record = series.finish();
        let summary = record.summary.unwrap();
        let samples = Empirical::new(&record.histogram().unwrap(), summary.min, summary.max);
        (samples, record.slices)
    }

    fn normal(random: &mut Random) -> f64 {
        StandardNormal.sample(random)
    }

    #[test]
    fn independent_samples_count_in_full() {
        let (samples, slices) = course(48_000, |random| 50_000.0 + 5_000.0 * normal(random));
        let dependence = Dependence::new(&samples, &slices).unwrap();
        for q in [0.5, 0.99, 0.999] {
            let effect = dependence.design_effect(q);
            assert!(effect < 1.6, "q = {q}: {effect}");
        }
    }

    #[test]
    fn lumps_in_the_distribution_do_not_count_as_dependence() {
        // Two values, about equally frequent: medians of slices jump between
        // them by chance alone.
        let (samples, slices) =
            course(48_000, |random| if random.random_bool(0.5) { 24.0 } else { 25.0 });
        let effect = Dependence::new(&samples, &slices).unwrap().design_effect(0.5);
        assert!(effect < 1.8, "{effect}");
    }

    #[test]
    fn correlated_samples_count_for_less() {
        // Autoregressive processes. The design effect of their median is
        // 1 + 2 Σ 2/π · asin(ρᵏ); an estimate from 30 batches is within a
        // quarter of it two times of three.
        for (rho, theory) in [(0.5, 2.3), (0.95, 27.1), (0.995, 276.6_f64)] {
            let mut state = 0.0;
            let (samples, slices) = course(48_000, |random| {
                state = rho * state + normal(random) * (1.0 - f64::powi(rho, 2)).sqrt();
                50_000.0 + 5_000.0 * state
            });
            let effect = Dependence::new(&samples, &slices).unwrap().design_effect(0.5);
            assert!((effect / theory).ln().abs() < 0.6, "ρ = {rho}: {effect}, not {theory}");
        }
    }

    #[test]
    fn a_drift_leaves_few_effective_samples() {
        let mut i = 0.0;
        let (samples, slices) = course(48_000, |random| {
            i += 1.0;
            50_000.0 + i + 5_000.0 * normal(random)
        });
        let left = Dependence::new(&samples, &slices).unwrap().effective_n(0.5);
        assert!(left < 500.0, "{left}");
    }

    #[test]
    fn bursts_in_the_tail_are_found_where_the_median_is_steady() {
        // Every thousandth sample, on average, begins a burst of ten.
        let mut burst = 0;
        let (samples, slices) = course(96_000, |random| {
            if burst == 0 && random.random_bool(0.0001) {
                burst = 10;
            }
            if burst > 0 {
                burst -= 1;
                return 900_000.0 + 50_000.0 * normal(random);
            }
            50_000.0 + 5_000.0 * normal(random)
        });
        let dependence = Dependence::new(&samples, &slices).unwrap();
        assert!(dependence.design_effect(0.5) < 1.6);
        let tail = dependence.design_effect(0.999);
        assert!((6.0..40.0).contains(&tail), "{tail}");
    }

    #[test]
    fn one_odd_stretch_barely_affects_a_steady_median() {
        let mut i = 0;
        let (samples, slices) = course(48_000, |_| {
            i += 1;
            if (20_000..20_200).contains(&i) { 5_000.0 } else { 100.0 }
        });
        let effect = Dependence::new(&samples, &slices).unwrap().design_effect(0.5);
        assert!(effect < 4.0, "{effect}");
    }

    #[test]
    fn without_a_course_there_is_no_estimate() {
        let (samples, slices) = course(48_000, |_| 100.0);
        assert!(Dependence::new(&samples, &[]).is_none());
        assert!(Dependence::new(&samples, &slices[..FEWEST_SLICES - 1]).is_none());
        let constant = Dependence::new(&samples, &slices).unwrap();
        assert!((constant.design_effect(0.5) - 1.0).abs() < 1e-12);
    }
}
