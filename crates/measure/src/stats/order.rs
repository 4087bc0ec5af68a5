//! Order statistics: intervals of quantiles from ranks alone.
//!
//! The number of samples below the true q-quantile is binomial, so two ranks
//! bound it whatever the distribution: Conover, *Practical Nonparametric
//! Statistics*, section 3.2.

use hdrhistogram::Histogram;

use super::Z;

/// The binomial distribution is summed exactly, from its first term `q` to the
/// power of `n`, as long as that term's logarithm is at least this, so that it
/// does not underflow. Beyond, the normal approximation is used.
const SMALLEST_TERM: f64 = -600.0;

/// The ranks (counted from 1) of the samples that bound the q-quantile of `n`
/// independent samples with at least 95 % confidence, or `None` if `n` is too
/// small for that: 6 for the median, 3 688 for the 99.9th percentile.
pub fn quantile_interval(n: u64, q: f64) -> Option<[u64; 2]> {
    let (most, fewest) = counts_above(n, q)?;
    let low = n.checked_sub(most).filter(|rank| *rank > 0)?;
    Some([low, n.checked_sub(fewest?)?])
}

/// The rank (counted from 1) of the q-quantile of `n` samples: the smallest that at least the share
/// `q` of them does not exceed. A product that is whole but for rounding (0.9 has no exact binary
/// form) is whole.
pub fn rank(n: f64, q: f64) -> f64 {
    (q * n * (1.0 - 4.0 * f64::EPSILON)).ceil().max(1.0)
}

/// The rank (counted from 1) of the sample that is the lower end of this interval.
/// It exists for tails of which `n` samples do not bound the upper end; `None` if
/// they do not bound the lower one either.
pub fn lower_end(n: u64, q: f64) -> Option<u64> {
    let (most, _) = counts_above(n, q)?;
    n.checked_sub(most).filter(|rank| *rank > 0)
}

/// The largest and the smallest number of samples above the quantile, each with
/// 97.5 % confidence. There may be no smallest one.
fn counts_above(n: u64, q: f64) -> Option<(u64, Option<u64>)> {
    if n == 0 || q <= 0.0 || q >= 1.0 {
        return None;
    }
    if n as f64 * q.ln() >= SMALLEST_TERM {
        return exact_counts_above(n, q);
    }
    let above = n as f64 * (1.0 - q);
    let spread = Z * (above * q).sqrt();
    Some(((above + spread).ceil() as u64, Some((above - spread).floor() as u64)))
}

fn exact_counts_above(n: u64, q: f64) -> Option<(u64, Option<u64>)> {
    let odds = (1.0 - q) / q;
    let mut chance = (n as f64 * q.ln()).exp();
    let mut sum = chance;
    let mut fewest = None;
    for count in 0..=n {
        if sum <= 0.025 {
            fewest = Some(count);
        }
        if sum >= 0.975 {
            return Some((count, fewest));
        }
        chance *= odds * (n - count) as f64 / (count + 1) as f64;
        sum += chance;
    }
    None
}

/// The sample with this rank (counted from 1) in ascending order.
pub fn value_at_rank(histogram: &Histogram<u64>, rank: u64) -> u64 {
    let n = histogram.len().max(1);
    // Half a rank below, so that rounding up finds exactly this rank.
    histogram.value_at_quantile((rank.clamp(1, n) as f64 - 0.5) / n as f64)
}

/// The median of `values`, and its 95 % interval if there are enough of them.
/// Sorts the values.
pub fn median(values: &mut [f64]) -> Option<(f64, Option<[f64; 2]>)> {
    values.sort_by(f64::total_cmp);
    let n = values.len();
    let middle = match n {
        0 => return None,
        n if n % 2 == 1 => values[n / 2],
        n => f64::midpoint(values[n / 2 - 1], values[n / 2]),
    };
    let interval = quantile_interval(n as u64, 0.5)
        .map(|ranks| ranks.map(|rank| values[(rank as usize).clamp(1, n) - 1]));
    Some((middle, interval))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rank_that_is_whole_but_for_rounding_is_whole() {
        for per_thousand in 1..1_000_u32 {
            for n in [1_000, 3_000, 7_000, 49_000, 1_000_000_000_u32] {
                let whole = n / 1_000 * per_thousand;
                let (n, q) = (f64::from(n), f64::from(per_thousand) / 1_000.0);
                let ranks = [rank(n, q), rank(n + 1.0, q)].map(|rank| rank as u32);
                assert_eq!(ranks, [whole, whole + 1], "{q} of {n}, and of one more");
            }
        }
        let ranks = [rank(5.0, 0.0), rank(0.0, 0.5)].map(|rank| rank as u32);
        assert_eq!(ranks, [1, 1]);
    }

    #[test]
    fn the_interval_of_the_median_is_the_textbook_one() {
        // Conover's table A3, and the sign test: 6 samples are the fewest.
        assert_eq!(quantile_interval(5, 0.5), None);
        assert_eq!(quantile_interval(6, 0.5), Some([1, 6]));
        assert_eq!(quantile_interval(20, 0.5), Some([6, 15]));
        assert_eq!(quantile_interval(100, 0.5), Some([40, 61]));
    }

    #[test]
    fn too_few_samples_bound_no_tail() {
        assert_eq!(quantile_interval(3_687, 0.999), None);
        assert!(quantile_interval(3_688, 0.999).is_some());
        assert_eq!(quantile_interval(1_000, 0.9999), None);
        assert_eq!(quantile_interval(0, 0.5), None);
    }

    #[test]
    fn the_lower_end_of_a_tail_needs_few_samples() {
        // Of 12 samples, at most one lies above the 99th percentile: 0.994.
        assert_eq!((quantile_interval(12, 0.99), lower_end(12, 0.99)), (None, Some(11)));
        assert_eq!(lower_end(1, 0.5), None);
        // Beyond the exact sum, the approximation may reach past all samples.
        for n in 1..3_000 {
            for q in [1e-9, 0.001, 0.01, 0.99, 0.999] {
                let ranks = quantile_interval(n, q);
                assert!(ranks.is_none_or(|[low, high]| 0 < low && low <= high && high <= n));
            }
        }
        for n in [6, 40, 500, 5_000] {
            assert_eq!(lower_end(n, 0.5), quantile_interval(n, 0.5).map(|[low, _]| low));
        }
    }

    #[test]
    fn the_exact_and_the_normal_interval_agree() {
        // ln(0.5) · 865 is just above the limit, 867 just below.
        let [low, high] = quantile_interval(865, 0.5).unwrap();
        let [low_normal, high_normal] = quantile_interval(867, 0.5).unwrap();
        assert!(low_normal.abs_diff(low) <= 2 && high_normal.abs_diff(high) <= 2);
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

    #[test]
    fn a_median_has_an_interval_from_six_values_on() {
        assert_eq!(median(&mut []), None);
        assert_eq!(median(&mut [3.0, 1.0]), Some((2.0, None)));
        let mut six = [6.0, 5.0, 4.0, 3.0, 2.0, 1.0];
        assert_eq!(median(&mut six), Some((3.5, Some([1.0, 6.0]))));
    }
}
