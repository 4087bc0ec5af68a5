//! The exact bootstrap of a quantile, from a histogram.
//!
//! A bootstrap draws n samples with replacement and takes their k-th smallest.
//! A sample drawn with replacement is F̂⁻¹(U), where F̂ is the empirical
//! distribution and U is uniform on (0, 1). F̂⁻¹ does not decrease, so the k-th
//! smallest of the n draws is F̂⁻¹ of the k-th smallest of n uniform numbers,
//! which follows Beta(k, n + 1 − k) (David and Nagaraja, *Order Statistics*,
//! section 2.3). One Beta draw and one binary search therefore replace a whole
//! resample, exactly, for any n.

use hdrhistogram::Histogram;
use rand_distr::{Beta, Distribution as _};

use super::order;
use super::random::Random;

/// The distribution of the samples in a histogram.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Empirical {
    /// The distinct values, ascending.
    values: Vec<u64>,
    /// The number of samples that are at most the value with the same index.
    up_to: Vec<u64>,
}

impl Empirical {
    /// The samples of `histogram`, each at the upper end of its bucket, but
    /// never outside the exact extremes `min` and `max`: the same values that a
    /// [`Summary`](crate::Summary) shows.
    pub fn new(histogram: &Histogram<u64>, min: u64, max: u64) -> Self {
        let mut values = Vec::new();
        let mut up_to = Vec::new();
        let mut n = 0_u64;
        for step in histogram.iter_recorded() {
            n = n.saturating_add(step.count_at_value());
            values.push(step.value_iterated_to().max(min).min(max));
            up_to.push(n);
        }
        Self { values, up_to }
    }

    /// The number of samples.
    pub fn n(&self) -> u64 {
        self.up_to.last().copied().unwrap_or(0)
    }

    /// The smallest value that at least the share `q` (0–1) of the samples does
    /// not exceed; 0 without samples.
    pub fn quantile(&self, q: f64) -> u64 {
        let rank = order::rank(self.n() as f64, q) as u64;
        let place = self.up_to.partition_point(|&up_to| up_to < rank);
        let last = self.values.len().saturating_sub(1);
        self.values.get(place.min(last)).copied().unwrap_or(0)
    }

    /// The distinct values in ascending order, each with its number of samples.
    pub fn counts(&self) -> impl Iterator<Item = (u64, u64)> + '_ {
        let before = std::iter::once(0).chain(self.up_to.iter().copied());
        let counts = self.up_to.iter().zip(before).map(|(up_to, before)| up_to - before);
        self.values.iter().copied().zip(counts)
    }

    /// The number of samples larger than `value`.
    pub fn above(&self, value: u64) -> u64 {
        let place = self.values.partition_point(|&other| other <= value);
        self.n() - place.checked_sub(1).map_or(0, |last| self.up_to[last])
    }

    /// An endless sequence of the q-quantiles of bootstrap resamples of
    /// `effective_n` samples; `None` if so few samples do not bound this
    /// quantile.
    pub fn resampled<'a>(
        &'a self,
        q: f64,
        effective_n: f64,
        random: &'a mut Random,
    ) -> Option<impl Iterator<Item = f64> + 'a> {
        let n = effective_n.min(self.n() as f64).floor();
        order::quantile_interval(n as u64, q)?;
        Some(self.order_statistics(order::rank(n, q), n, random).map(|value| value as f64))
    }

    /// An endless sequence of medians of `n` independent samples.
    pub(super) fn medians<'a>(
        &'a self,
        n: u64,
        random: &'a mut Random,
    ) -> impl Iterator<Item = u64> + 'a {
        self.order_statistics(order::rank(n as f64, 0.5), n as f64, random)
    }

    /// Resamples of size `n`, each reduced to its sample of this rank.
    fn order_statistics<'a>(
        &'a self,
        rank: f64,
        n: f64,
        random: &'a mut Random,
    ) -> impl Iterator<Item = u64> + 'a {
        let rank = rank.clamp(1.0, n.max(1.0));
        let beta = Beta::new(rank, n.max(1.0) + 1.0 - rank)
            .expect("1 ≤ rank ≤ n, so both parameters are at least 1");
        std::iter::repeat_with(move || self.quantile(beta.sample(random)))
    }
}

#[cfg(test)]
mod tests {
    use rand::RngExt as _;

    use super::*;
    use crate::stats::random::seeded;

    fn uniform(n: u64) -> Empirical {
        let mut histogram = Histogram::new_with_bounds(1, 1 << 42, 3).unwrap();
        for value in 1..=n {
            histogram.record(value).unwrap();
        }
        Empirical::new(&histogram, 1, n)
    }

    #[test]
    fn quantiles_are_those_of_the_samples() {
        let samples = uniform(1_000);
        assert_eq!(samples.n(), 1_000);
        assert_eq!([0.0, 0.5, 0.9995, 1.0].map(|q| samples.quantile(q)), [1, 500, 1_000, 1_000]);
        assert!(samples.counts().eq((1..=1_000).map(|value| (value, 1))));
        assert_eq!([0, 1, 999, 1_000, 9_999].map(|v| samples.above(v)), [1_000, 999, 1, 0, 0]);
    }

    #[test]
    fn without_samples_quantiles_are_zero() {
        let nothing = Empirical::new(&Histogram::new(3).unwrap(), 0, 0);
        assert_eq!((nothing.n(), nothing.quantile(0.5), nothing.above(3)), (0, 0, 0));
        assert!(nothing.resampled(0.5, 100.0, &mut seeded(1, "nothing")).is_none());
    }

    /// Compares the shortcut with a resampling of all n samples.
    #[test]
    fn one_beta_draw_equals_a_whole_resample() {
        // A lumpy distribution: many equal values, a gap, a long tail.
        let mut raw: Vec<u64> = (0..150).map(|i| 100 + i % 7).collect();
        raw.extend((0..50).map(|i| 1_000 + 40 * i));
        let mut histogram = Histogram::new_with_bounds(1, 1 << 42, 3).unwrap();
        for &value in &raw {
            histogram.record(value).unwrap();
        }
        let samples = Empirical::new(&histogram, 100, 2_960);

        for q in [0.5, 0.75, 0.95] {
            let random = &mut seeded(3, "beta");
            let shortcut: Vec<f64> =
                samples.resampled(q, 200.0, random).unwrap().take(20_000).collect();
            let random = &mut seeded(4, "brute force");
            let brute_force: Vec<f64> = (0..20_000)
                .map(|_| {
                    let mut resample: Vec<u64> =
                        (0..200).map(|_| raw[random.random_range(0..200)]).collect();
                    let rank = (q * 200.0).ceil() as usize;
                    let value = *resample.select_nth_unstable(rank - 1).1;
                    histogram.highest_equivalent(value).min(2_960) as f64
                })
                .collect();
            let distance = kolmogorov_smirnov(shortcut, brute_force);
            // The 99.9 % point for two samples of 20,000: 1.95 · √(2 / 20,000).
            assert!(distance < 0.0195, "q = {q}: {distance}");
        }
    }

    /// The largest distance between two empirical distributions.
    fn kolmogorov_smirnov(mut a: Vec<f64>, mut b: Vec<f64>) -> f64 {
        a.sort_by(f64::total_cmp);
        b.sort_by(f64::total_cmp);
        let share = |sorted: &[f64], x: f64| {
            sorted.partition_point(|&value| value <= x) as f64 / sorted.len() as f64
        };
        a.iter().chain(&b).map(|&x| (share(&a, x) - share(&b, x)).abs()).fold(0.0, f64::max)
    }
}
