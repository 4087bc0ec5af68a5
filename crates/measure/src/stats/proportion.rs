//! Confidence intervals of proportions.

use super::Z;

/// The 95 % interval of a share after `hits` of `n` trials: Wilson's score
/// interval, which stays within 0–1 and holds for rare events (Wilson, *JASA*
/// 22, 1927). Without trials it is 0 to 1.
pub fn interval(hits: u64, n: u64) -> [f64; 2] {
    if n == 0 {
        return [0.0, 1.0];
    }
    interval_of_share(hits.min(n) as f64 / n as f64, n as f64)
}

/// As [`interval`], for a `share` that is worth `n` independent trials.
pub(crate) fn interval_of_share(share: f64, n: f64) -> [f64; 2] {
    let centre = share + Z * Z / (2.0 * n);
    let spread = Z * (share * (1.0 - share) / n + Z * Z / (4.0 * n * n)).sqrt();
    let scale = 1.0 + Z * Z / n;
    // At a share of 0 or 1, an end is equal to the share; rounding must not move it past.
    let (low, high) = ((centre - spread) / scale, (centre + spread) / scale);
    [low.min(share).max(0.0), high.max(share).min(1.0)]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_hit_in_many_trials_leaves_a_small_chance() {
        let [low, high] = interval(0, 10_000);
        assert!(low.abs() < 1e-12);
        assert!((high - 3.84e-4).abs() < 1e-6, "{high}");
    }

    #[test]
    fn the_interval_contains_the_share() {
        for n in 1..2_000 {
            for hits in [0, 1, n / 2, n] {
                let share = hits as f64 / n as f64;
                let [low, high] = interval(hits, n);
                assert!(
                    (0.0..=share).contains(&low) && (share..=1.0).contains(&high),
                    "{hits}/{n}"
                );
            }
            let (none, all) = (interval(0, n), interval(n, n));
            assert!(none[0] <= 0.0 && all[1] >= 1.0, "{n}");
        }
    }

    #[test]
    fn the_interval_is_wilsons() {
        // 10 of 100: 0.0552 to 0.1744.
        let [low, high] = interval(10, 100);
        assert!((low - 0.0552).abs() < 1e-4 && (high - 0.1744).abs() < 1e-4, "{low} {high}");
        let [low, high] = interval(3, 0);
        assert!(low.abs() < 1e-12 && (high - 1.0).abs() < 1e-12);
    }
}
