//! The spread of a quantity from one run to the next.
//!
//! Starts within a run share the machine's state of that minute: the placement
//! of a virtual machine, its host's load, the layout of memory. So they cannot
//! show how far that state moves between runs; other runs of the same thing can.

use rand_distr::{ChiSquared, Distribution as _, StandardNormal};

use super::random::Random;

/// The fewest degrees of freedom that give a spread: with one, Student's factor
/// is 12.7, and nothing would ever differ.
const FEWEST_FREE: usize = 2;

/// The largest exponent of a drawn factor: beyond, differences would overflow.
const LARGEST: f64 = 50.0;

/// How far a quantity varies between runs of the same thing.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct RunSpread {
    scale: Scale,
    /// The variance of the runs' values around the mean of their group.
    variance: f64,
    /// The degrees of freedom of that variance.
    freedom: f64,
}

/// The scale on which values of runs vary alike.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Scale {
    /// By a factor: all values are positive.
    Factor,
    /// By an amount, in the unit of the values.
    Amount,
}

impl RunSpread {
    /// The spread within `groups`, each of which holds the values of runs of the
    /// same thing. `None` if these are too few.
    pub fn within(groups: &[Vec<f64>]) -> Option<Self> {
        let positive = groups.iter().flatten().all(|&value| value > 0.0);
        let scale = if positive { Scale::Factor } else { Scale::Amount };
        let groups: Vec<Vec<f64>> = groups
            .iter()
            .map(|group| group.iter().map(|&value| scale.of(value)).collect())
            .filter(|group: &Vec<f64>| group.len() > 1)
            .collect();
        let freedom: usize = groups.iter().map(|group| group.len() - 1).sum();
        if freedom < FEWEST_FREE {
            return None;
        }
        let squares: f64 = groups.iter().map(|group| squares(group)).sum();
        Some(Self { scale, variance: squares / freedom as f64, freedom: freedom as f64 })
    }

    /// Adds to both sides of all `draws` what the spread between runs exceeds
    /// their own: each draw becomes one of another run of the same thing. The
    /// values of runs are taken as normal with an unknown variance, so that the
    /// difference has Student's distribution.
    pub fn widen(&self, draws: &mut [[f64; 2]], random: &mut Random) {
        let is_positive = draws.iter().flatten().all(|&value| value > 0.0);
        if self.scale == Scale::Factor && !is_positive {
            return;
        }
        let own = |side: usize| {
            let values: Vec<f64> = draws.iter().map(|draw| self.scale.of(draw[side])).collect();
            squares(&values) / (values.len().max(2) - 1) as f64
        };
        let between = (self.variance - f64::midpoint(own(0), own(1))).max(0.0).sqrt();
        let chi_squared =
            ChiSquared::new(self.freedom).expect("there are at least two degrees of freedom");
        for draw in draws {
            let deviation = between * (self.freedom / chi_squared.sample(random)).sqrt();
            for value in draw {
                let normal: f64 = StandardNormal.sample(random);
                *value = match self.scale {
                    Scale::Factor => *value * (deviation * normal).clamp(-LARGEST, LARGEST).exp(),
                    Scale::Amount => *value + deviation * normal,
                };
            }
        }
    }
}

impl Scale {
    fn of(self, value: f64) -> f64 {
        match self {
            Self::Factor => value.ln(),
            Self::Amount => value,
        }
    }
}

/// The sum of the squared distances from the mean.
fn squares(values: &[f64]) -> f64 {
    let mean = values.iter().sum::<f64>() / values.len().max(1) as f64;
    values.iter().map(|value| (value - mean).powi(2)).sum()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stats::contrast::interval;
    use crate::stats::random::seeded;

    /// The interval of the difference of two sides that are exactly 100 each.
    fn widened(groups: &[Vec<f64>]) -> [f64; 2] {
        let mut draws = vec![[100.0; 2]; 20_000];
        let spread = RunSpread::within(groups).unwrap();
        spread.widen(&mut draws, &mut seeded(1, "test"));
        interval(draws.iter().map(|[a, b]| (b / a).ln()).collect())
    }

    #[test]
    fn the_interval_of_exact_values_is_students() {
        // The deviation of these five is 0.1, t of 4 degrees of freedom 2.776.
        let steps = [-0.126_491, -0.063_246, 0.0, 0.063_246, 0.126_491_f64];
        let runs = steps.map(|step| 100.0 * step.exp()).to_vec();
        let [low, high] = widened(&[runs]);
        let expected = 2.776 * 0.1 * 2.0_f64.sqrt();
        assert!((high / expected - 1.0).abs() < 0.05, "{high}, not {expected}");
        assert!((low / -expected - 1.0).abs() < 0.05, "{low}, not −{expected}");
    }

    #[test]
    fn groups_may_differ_in_their_means() {
        let near = [99.0, 100.0, 101.0].to_vec();
        let far = near.iter().map(|value| value * 7.0).collect();
        let [low, high] = widened(&[near, far]);
        assert!(low > -0.06 && high < 0.06, "{low} to {high}");
    }

    #[test]
    fn draws_that_vary_as_much_as_runs_stay() {
        let mut random = seeded(1, "draws");
        let normal = |random: &mut Random| -> f64 { StandardNormal.sample(random) };
        let mut draws: Vec<[f64; 2]> =
            (0..1_000).map(|_| [0; 2].map(|_| 100.0 + 5.0 * normal(&mut random))).collect();
        let before = draws.clone();
        let spread = RunSpread::within(&[vec![98.0, 100.0, 102.0]]).unwrap();
        spread.widen(&mut draws, &mut random);
        assert_eq!(draws, before);
    }

    #[test]
    fn values_around_zero_vary_by_an_amount() {
        let spread = RunSpread::within(&[vec![0.0, 0.02, 0.04]]).unwrap();
        let mut draws = vec![[0.0; 2]; 5_000];
        spread.widen(&mut draws, &mut seeded(1, "test"));
        let [low, high] = interval(draws.iter().map(|[a, b]| b - a).collect());
        // 4.303 × 0.02 × √2
        assert!((0.11..0.14).contains(&high) && (-0.14..-0.11).contains(&low), "{low} to {high}");
    }

    #[test]
    fn two_runs_give_no_spread() {
        assert_eq!(RunSpread::within(&[vec![1.0, 2.0]]), None);
        assert_eq!(RunSpread::within(&[vec![1.0], vec![2.0], vec![3.0]]), None);
        assert!(RunSpread::within(&[vec![1.0, 2.0], vec![3.0, 4.0]]).is_some());
    }
}
