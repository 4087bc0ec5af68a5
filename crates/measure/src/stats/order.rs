//! Order statistics: intervals of quantiles from ranks alone.
//!
//! The number of samples below the true q-quantile is binomial, so two ranks
//! bound it whatever the distribution: Conover, *Practical Nonparametric
//! Statistics*, section 3.2. The normal approximation of the binomial is used,
//! which is good where the interval exists at all (n·q·(1−q) ≥ 4).

use hdrhistogram::Histogram;

/// Two-sided 95 % point of the normal distribution.
const Z: f64 = 1.959_964;

/// The ranks (counted from 1) of the samples that bound the q-quantile of `n`
/// samples with 95 % confidence, or `None` if `n` is too small for that.
pub fn quantile_interval(n: u64, q: f64) -> Option<[u64; 2]> {
    let n = n as f64;
    let spread = (n * q * (1.0 - q)).sqrt();
    let low = (n * q - Z * spread).floor();
    let high = (n * q + Z * spread).ceil() + 1.0;
    (spread >= 2.0 && low >= 1.0 && high <= n).then_some([low as u64, high as u64])
}

/// The sample with this rank (counted from 1) in ascending order.
pub fn value_at_rank(histogram: &Histogram<u64>, rank: u64) -> u64 {
    let n = histogram.len().max(1);
    // Half a rank below, so that rounding up finds exactly this rank.
    histogram.value_at_quantile((rank.clamp(1, n) as f64 - 0.5) / n as f64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_interval_of_the_median_is_the_textbook_one() {
        // n = 100: ranks 40 and 61 (Conover's approximation).
        assert_eq!(quantile_interval(100, 0.5), Some([40, 61]));
    }

    #[test]
    fn too_few_samples_bound_no_tail() {
        assert_eq!(quantile_interval(10, 0.5), None);
        assert_eq!(quantile_interval(1_000, 0.9999), None);
        assert!(quantile_interval(100_000, 0.9999).is_some());
    }

    #[test]
    fn ranks_find_their_samples() {
        let mut histogram = Histogram::new_with_bounds(1, 1 << 42, 3).unwrap();
        for value in 1..=500_u64 {
            histogram.record(value).unwrap();
        }
        for rank in [1, 2, 250, 499, 500] {
            assert_eq!(value_at_rank(&histogram, rank), rank);
        }
    }
}
