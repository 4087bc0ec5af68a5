//! Prediction intervals: where the result of an experiment yet to be made will
//! lie, which is wider than where the median of many such experiments lies.

use super::bootstrap::{expansion, index, quantile};
use super::contrast;
use super::random::Random;

/// The 95 % prediction interval of the median difference within `pairs` new
/// pairs, as a share of the median of their first values. The new pairs are
/// like the `seen` ones, which are worth `n` independent ones. `None` without
/// seen or new pairs.
///
/// Each draw takes its pairs from a resample of the seen ones, because these
/// are a sample themselves, and is expanded for its size as in
/// [`bootstrap`](super::bootstrap).
pub fn relative_difference(
    seen: &[[f64; 2]],
    n: usize,
    pairs: usize,
    times: usize,
    random: &mut Random,
) -> Option<[f64; 2]> {
    if seen.is_empty() || n == 0 || pairs == 0 {
        return None;
    }
    let mut resample = vec![[0.0; 2]; n];
    let mut drawn = Vec::with_capacity(times);
    let (mut first, mut differences) = (vec![0.0; pairs], vec![0.0; pairs]);
    for _ in 0..times {
        for pair in &mut resample {
            *pair = seen[index(seen.len(), random)];
        }
        for (first, difference) in first.iter_mut().zip(&mut differences) {
            let [before, after] = resample[index(n, random)];
            (*first, *difference) = (before, after - before);
        }
        drawn.push(quantile(&mut differences, 0.5)? / quantile(&mut first, 0.5)?);
    }
    let centre = quantile(&mut drawn, 0.5)?;
    let factor = expansion(n);
    for draw in &mut drawn {
        *draw = centre + (*draw - centre) * factor;
    }
    Some(contrast::interval(drawn))
}

#[cfg(test)]
mod tests {
    use rand::RngExt as _;

    use super::*;
    use crate::stats::random::seeded;

    /// Pairs of lengths that scatter by a third; the second is `effect` longer.
    fn launches(n: usize, effect: f64, random: &mut Random) -> Vec<[f64; 2]> {
        let mut length = |typical: f64| typical * random.random_range(0.8..1.2);
        (0..n).map(|_| [length(100.0), length(100.0 * (1.0 + effect))]).collect()
    }

    fn median_change(pairs: &[[f64; 2]]) -> f64 {
        let mut differences: Vec<f64> = pairs.iter().map(|[a, b]| b - a).collect();
        let mut first: Vec<f64> = pairs.iter().map(|[a, _]| *a).collect();
        quantile(&mut differences, 0.5).unwrap() / quantile(&mut first, 0.5).unwrap()
    }

    #[test]
    fn nineteen_of_twenty_experiments_have_their_result_in_it() {
        let mut random = seeded(1, "prediction");
        for (n, pairs) in [(6, 10), (12, 12), (12, 40)] {
            let mut inside = 0;
            for _ in 0..300 {
                let seen = launches(n, -0.3, &mut random);
                let found = median_change(&launches(pairs, -0.3, &mut random));
                let [low, high] = relative_difference(&seen, n, pairs, 500, &mut random).unwrap();
                inside += u32::from((low..=high).contains(&found));
            }
            assert!((273..=298).contains(&inside), "{inside} of 300 for {n} and {pairs}");
        }
    }

    #[test]
    fn without_pairs_there_is_none() {
        let mut random = seeded(1, "prediction");
        assert_eq!(relative_difference(&[], 6, 10, 100, &mut random), None);
        assert_eq!(relative_difference(&[[1.0, 0.5]], 6, 0, 100, &mut random), None);
        let same = relative_difference(&[[1.0, 0.5]; 6], 6, 10, 100, &mut random);
        assert_eq!(same, Some([-0.5, -0.5]));
    }
}
