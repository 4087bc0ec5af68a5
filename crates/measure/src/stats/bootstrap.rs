//! The ordinary bootstrap of raw samples: Efron and Tibshirani, *An
//! Introduction to the Bootstrap*, chapters 6 and 8.
//!
//! Resamples of few samples vary too little: their variance is too small by the
//! factor (n − 1)/n, and they follow the normal distribution instead of
//! Student's. The draws are therefore moved away from the observed value by the
//! factor that corrects both, 1.29 for eight samples, 1.04 for fifty. This is
//! the expanded percentile interval of Hesterberg, *What Teachers Should Know
//! About the Bootstrap* (2015), section 5.3.

use rand::RngExt as _;

use super::Z;
use super::contrast::Contrast;
use super::order;
use super::random::Random;

/// The value below which the share `q` of the samples lies; for the median of
/// an even number, the mean of the two middle ones. Reorders the samples.
/// `None` without samples.
pub fn quantile(samples: &mut [f64], q: f64) -> Option<f64> {
    let n = samples.len();
    let rank = (order::rank(n as f64, q) as usize).min(n.max(1));
    if n == 0 {
        return None;
    }
    let (_, &mut low, above) = samples.select_nth_unstable_by(rank - 1, f64::total_cmp);
    let halves = (q * 2.0 - 1.0).abs() < f64::EPSILON && n.is_multiple_of(2);
    let high = above.iter().copied().fold(f64::INFINITY, f64::min);
    Some(if halves { f64::midpoint(low, high) } else { low })
}

/// The contrast of the q-quantiles of two independent samples; `None` if one of
/// them is empty.
pub fn quantiles(
    a: &[f64],
    b: &[f64],
    q: f64,
    times: usize,
    random: &mut Random,
) -> Option<Contrast> {
    let mut buffers = [a.to_vec(), b.to_vec()];
    let values = [quantile(&mut buffers[0], q)?, quantile(&mut buffers[1], q)?];
    let mut draw = |buffer: &mut Vec<f64>, samples: &[f64]| {
        for place in buffer.iter_mut() {
            *place = samples[index(samples.len(), random)];
        }
        quantile(buffer, q).expect("the sample is not empty, nor is its resample")
    };
    let drawn = (0..times).map(|_| [draw(&mut buffers[0], a), draw(&mut buffers[1], b)]).collect();
    Some(Contrast::new(values[0], values[1], drawn))
}

/// A statistic of pairs, from resampled pairs: an influence on both trials of a
/// pair cancels in the difference. The statistic gets the indices of the drawn
/// pairs.
pub fn pairs(
    n: usize,
    times: usize,
    random: &mut Random,
    statistic: impl FnMut(&[usize]) -> [f64; 2],
) -> Contrast {
    let Resampled { seen: [a, b], draws } = resampled(n, times, random, statistic);
    Contrast::new(a, b, draws)
}

/// Statistics of samples, and their draws.
pub(crate) struct Resampled<const N: usize> {
    /// The observed statistics.
    pub(crate) seen: [f64; N],
    /// Those of each resample, expanded for the number of samples.
    pub(crate) draws: Vec<[f64; N]>,
}

/// Statistics of `n` samples and of `times` resamples. The function gets the indices of the drawn
/// samples.
pub(crate) fn resampled<const N: usize>(
    n: usize,
    times: usize,
    random: &mut Random,
    mut statistics: impl FnMut(&[usize]) -> [f64; N],
) -> Resampled<N> {
    let mut places: Vec<usize> = (0..n).collect();
    let seen = statistics(&places);
    let factor = expansion(n);
    let mut draw = || {
        for place in &mut places {
            *place = index(n, random);
        }
        let mut drawn = statistics(&places);
        for (drawn, seen) in drawn.iter_mut().zip(seen) {
            *drawn = seen + (*drawn - seen) * factor;
        }
        drawn
    };
    Resampled { seen, draws: (0..times).map(|_| draw()).collect() }
}

/// The factor by which the draws of `n` samples are moved away from the
/// observed value.
pub(super) fn expansion(n: usize) -> f64 {
    let n = n.max(2) as f64;
    (n / (n - 1.0)).sqrt() * student(n - 1.0) / Z
}

/// The 95 % interval of the mean of independent samples, by Student's distribution; `None` for fewer
/// than two.
pub(crate) fn mean_interval(samples: &[f64]) -> Option<[f64; 2]> {
    let n = samples.len() as f64;
    let mean = samples.iter().sum::<f64>() / n;
    let squares: f64 = samples.iter().map(|sample| (sample - mean).powi(2)).sum();
    let half = student(n - 1.0) * (squares / (n - 1.0) / n).sqrt();
    (samples.len() >= 2).then_some([mean - half, mean + half])
}

/// Two-sided 95 % point of Student's distribution: Abramowitz and Stegun,
/// *Handbook of Mathematical Functions*, 26.7.5; to 0.2 % from five degrees of
/// freedom up.
fn student(freedom: f64) -> f64 {
    let power = |n| Z.powi(n);
    Z + (power(3) + Z) / (4.0 * freedom)
        + (5.0 * power(5) + 16.0 * power(3) + 3.0 * Z) / (96.0 * freedom.powi(2))
        + (3.0 * power(7) + 19.0 * power(5) + 17.0 * power(3) - 15.0 * Z)
            / (384.0 * freedom.powi(3))
}

/// A random index below `n`, uniformly distributed. Drawn as 32 bits if that
/// suffices, so that machines of all word sizes draw the same.
pub(super) fn index(n: usize, random: &mut Random) -> usize {
    match u32::try_from(n) {
        Ok(n) => random.random_range(0..n) as usize,
        Err(_) => random.random_range(0..n as u64) as usize,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stats::Estimate;
    use crate::stats::random::seeded;

    #[test]
    fn the_median_of_an_even_number_lies_between_the_middle_two() {
        assert_eq!(quantile(&mut [4.0, 1.0, 3.0, 2.0], 0.5), Some(2.5));
        assert_eq!(quantile(&mut [3.0, 1.0, 2.0], 0.5), Some(2.0));
        assert_eq!(quantile(&mut [4.0, 1.0, 3.0, 2.0], 0.9), Some(4.0));
        assert_eq!(quantile(&mut [4.0, 1.0, 3.0, 2.0], 0.0), Some(1.0));
        assert_eq!(quantile(&mut [], 0.5), None);
    }

    #[test]
    fn students_points_are_the_tabulated_ones() {
        for (freedom, point) in [(5.0, 2.571), (9.0, 2.262), (29.0, 2.045), (1e9, 1.960)] {
            assert!((student(freedom) - point).abs() < 0.005, "{freedom}: {}", student(freedom));
        }
    }

    #[test]
    fn equal_samples_do_not_differ() {
        let contrast = quantiles(&[5.0; 20], &[5.0; 30], 0.5, 500, &mut seeded(1, "t")).unwrap();
        let nothing = Estimate { value: 0.0, interval: [0.0, 0.0] };
        assert_eq!(contrast.weigh(0.0).difference, nothing);
        assert!(quantiles(&[], &[1.0], 0.5, 500, &mut seeded(1, "t")).is_none());
    }

    #[test]
    fn the_interval_of_a_difference_is_about_as_wide_as_theory_says() {
        // Uniform on 0–1000: the median of n has the standard error 1000/(2√n).
        let a: Vec<f64> = (0..400).map(|i| f64::from(i) * 2.5).collect();
        let b: Vec<f64> = a.iter().map(|value| value + 100.0).collect();
        let contrast = quantiles(&a, &b, 0.5, 4_000, &mut seeded(1, "t")).unwrap();
        let difference = contrast.weigh(0.0).difference;
        let [low, high] = difference.interval;
        let width = 2.0 * 1.96 * (1000.0 / 40.0) * 2.0_f64.sqrt();
        assert!((difference.value - 100.0).abs() < 1e-9);
        assert!(((high - low) / width - 1.0).abs() < 0.1, "{low} {high} against {width}");
    }

    #[test]
    fn an_influence_on_both_trials_of_a_pair_cancels() {
        // A drift a hundred times the effect, the same in both trials.
        let a: Vec<f64> = (0..40).map(|i| f64::from(i) * 100.0).collect();
        let b: Vec<f64> = a.iter().map(|value| value + 1.0).collect();
        let contrast = pairs(40, 500, &mut seeded(1, "t"), |drawn| {
            let mean = |arm: &[f64]| drawn.iter().map(|&i| arm[i]).sum::<f64>() / 40.0;
            [mean(&a), mean(&b)]
        });
        let [low, high] = contrast.weigh(0.0).difference.interval;
        assert!((low - 1.0).abs() < 1e-6 && (high - 1.0).abs() < 1e-6, "{low} {high}");
    }
}
