//! The contrast of two quantities: difference, ratio, answer.

use serde::{Deserialize, Serialize};

use super::{CONFIDENCE, Z, power};
use crate::record::{Answer, Direction};

/// A value and its 95 % interval.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Estimate {
    /// The point estimate.
    pub value: f64,
    /// The 95 % interval.
    pub interval: [f64; 2],
}

/// The values of two arms or runs, and the bootstrap draws of both.
#[derive(Debug, Clone, PartialEq)]
pub struct Contrast {
    /// The value of the first arm or run.
    pub a: f64,
    /// The value of the second arm or run.
    pub b: f64,
    /// The bootstrap draws of both values.
    draws: Vec<[f64; 2]>,
}

/// A contrast, weighed against the smallest difference that matters.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Weighed {
    /// The value of the first arm or run.
    pub a: f64,
    /// The second value minus the first.
    pub difference: Estimate,
    /// The second value divided by the first; `None` if the first may be zero
    /// or negative.
    pub ratio: Option<Estimate>,
    /// The probability of data this extreme, in either direction, if the true
    /// difference is within the margin. Never below the resolution of the
    /// number of draws.
    pub p_value: f64,
    /// The standard error of the difference: that of a normal distribution with
    /// the same 95 % interval.
    pub standard_error: f64,
    /// The largest difference that is ignored, in the unit of the values.
    pub margin: f64,
    /// Whether the second value is more likely to exceed the first by more than
    /// the margin than to fall below it by more than the margin.
    larger: bool,
    /// Whether the whole interval lies within the margin, on both sides.
    within: bool,
}

impl Contrast {
    /// The contrast of the observed values and the draws, first arm first.
    pub fn new(a: f64, b: f64, draws: Vec<[f64; 2]>) -> Self {
        Self { a, b, draws }
    }

    /// The interval of the first value alone.
    pub fn interval_of_a(&self) -> [f64; 2] {
        interval(self.draws.iter().map(|draw| draw[0]).collect())
    }

    /// The interval of the second value alone.
    pub fn interval_of_b(&self) -> [f64; 2] {
        interval(self.draws.iter().map(|draw| draw[1]).collect())
    }

    /// Weighs the difference against `min_effect`, a share of the smaller of
    /// the two values.
    pub fn weigh(&self, min_effect: f64) -> Weighed {
        let difference = interval(self.draws.iter().map(|[a, b]| b - a).collect());
        let positive = self.a > 0.0 && self.draws.iter().all(|&[a, _]| a > 0.0);
        let [larger, smaller] = self.counts_beyond(min_effect);
        let all = self.draws.len() + 1;
        let against = all - larger.max(smaller);
        let tail = (1.0 - CONFIDENCE) / 2.0;
        Weighed {
            a: self.a,
            ratio: positive.then(|| Estimate {
                value: self.b / self.a,
                interval: interval(self.draws.iter().map(|[a, b]| b / a).collect()),
            }),
            p_value: (2.0 * against as f64 / all as f64).min(1.0),
            standard_error: standard_error(difference),
            difference: Estimate { value: self.b - self.a, interval: difference },
            margin: margin(min_effect, self.a, self.b),
            larger: larger > smaller,
            within: all > 1 && larger.max(smaller) as f64 / all as f64 <= tail,
        }
    }

    /// How many draws have the second value larger than the first by more than
    /// `min_effect`, and how many have it smaller.
    fn counts_beyond(&self, min_effect: f64) -> [usize; 2] {
        let count = |larger: fn(f64, f64) -> f64| {
            let beyond = |&&[a, b]: &&[f64; 2]| larger(a, b) > margin(min_effect, a, b);
            self.draws.iter().filter(beyond).count()
        };
        [count(|a, b| b - a), count(|a, b| a - b)]
    }
}

impl Weighed {
    /// The answer at `p_value`, which is the contrast's own, or that value
    /// corrected for the other questions of the family.
    ///
    /// *Better* and *worse* need the whole interval beyond the margin, *the
    /// same* needs the whole interval within it; everything else is *cannot
    /// tell*.
    pub fn answer(&self, better: Direction, p_value: f64) -> Answer {
        if p_value <= 1.0 - CONFIDENCE {
            match (better, self.larger) {
                (Direction::Larger, true) | (Direction::Smaller, false) => Answer::Better,
                (Direction::Larger, false) | (Direction::Smaller, true) => Answer::Worse,
            }
        } else if self.within {
            Answer::Same
        } else {
            Answer::CannotTell
        }
    }

    /// The smallest difference that these samples would have shown with 80 %
    /// probability, as one of `questions`.
    pub fn minimum_effect(&self, questions: usize) -> f64 {
        power::minimum_effect(self.standard_error, questions) + self.margin
    }
}

/// The largest difference that is ignored. It is symmetric, so that exchanging
/// the arms exchanges *better* and *worse*.
fn margin(min_effect: f64, a: f64, b: f64) -> f64 {
    min_effect * a.abs().min(b.abs())
}

/// The middle 95 % of the draws; unbounded if there are none.
pub fn interval(mut drawn: Vec<f64>) -> [f64; 2] {
    if drawn.is_empty() {
        return [f64::NEG_INFINITY, f64::INFINITY];
    }
    drawn.sort_unstable_by(f64::total_cmp);
    let tail = (1.0 - CONFIDENCE) / 2.0;
    let low = (drawn.len() as f64 * tail).floor() as usize;
    [drawn[low], drawn[drawn.len() - 1 - low]]
}

/// From the interval, because draws of few runs have tails so heavy that their
/// standard deviation is meaningless.
fn standard_error([low, high]: [f64; 2]) -> f64 {
    (high - low) / (2.0 * Z)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Draws of `b` spread evenly over `low` to `high`, while `a` is a constant
    /// 100.
    fn against_100(low: f64, high: f64) -> Contrast {
        let step = (high - low) / 999.0;
        let draws = (0..1_000).map(|i| [100.0, low + step * f64::from(i)]).collect();
        Contrast::new(100.0, f64::midpoint(low, high), draws)
    }

    fn answer(contrast: &Contrast, min_effect: f64) -> Answer {
        let weighed = contrast.weigh(min_effect);
        weighed.answer(Direction::Smaller, weighed.p_value)
    }

    #[test]
    fn the_whole_interval_decides() {
        assert_eq!(answer(&against_100(105.0, 110.0), 0.02), Answer::Worse);
        assert_eq!(answer(&against_100(90.0, 95.0), 0.02), Answer::Better);
        assert_eq!(answer(&against_100(99.5, 101.5), 0.02), Answer::Same);
        // Certainly different, but possibly by less than the margin.
        assert_eq!(answer(&against_100(101.0, 104.0), 0.02), Answer::CannotTell);
        assert_eq!(answer(&against_100(101.0, 104.0), 0.0), Answer::Worse);
        assert_eq!(answer(&against_100(90.0, 110.0), 0.02), Answer::CannotTell);
    }

    #[test]
    fn more_can_be_better() {
        let weighed = against_100(105.0, 110.0).weigh(0.02);
        assert_eq!(weighed.answer(Direction::Larger, weighed.p_value), Answer::Better);
    }

    #[test]
    fn a_corrected_p_value_overrules_the_interval() {
        let weighed = against_100(105.0, 110.0).weigh(0.02);
        assert_eq!(weighed.answer(Direction::Smaller, 0.3), Answer::CannotTell);
    }

    #[test]
    fn without_draws_nothing_is_decided() {
        let nothing = Contrast::new(1.0, 2.0, Vec::new());
        assert_eq!(answer(&nothing, 0.02), Answer::CannotTell);
        let unbounded = [f64::NEG_INFINITY, f64::INFINITY];
        let difference = nothing.weigh(0.0).difference;
        assert_eq!(difference, Estimate { value: 1.0, interval: unbounded });
    }

    #[test]
    fn a_ratio_needs_something_to_divide_by() {
        let half = against_100(50.0, 50.0).weigh(0.0);
        assert_eq!(half.ratio, Some(Estimate { value: 0.5, interval: [0.5, 0.5] }));
        let from_nothing = Contrast::new(0.0, 5.0, vec![[0.0, 5.0]; 100]);
        assert_eq!(from_nothing.weigh(0.02).ratio, None);
        assert_eq!(answer(&from_nothing, 0.02), Answer::Worse);
    }

    proptest! {
        #[test]
        fn exchanging_the_arms_exchanges_the_answer(
            draws in prop::collection::vec([0.0..100.0_f64, 0.0..100.0_f64], 50..200),
            shift in 0.0..200.0_f64,
            min_effect in 0.0..0.5_f64,
        ) {
            let draws: Vec<_> = draws.into_iter().map(|[a, b]| [a, b + shift]).collect();
            let swapped = draws.iter().map(|&[a, b]| [b, a]).collect();
            let there = Contrast::new(50.0, 50.0 + shift, draws);
            let back = Contrast::new(50.0 + shift, 50.0, swapped);
            let p_values = [&there, &back].map(|contrast| contrast.weigh(min_effect).p_value);
            prop_assert!((p_values[0] - p_values[1]).abs() < f64::EPSILON);
            let mirrored = match answer(&there, min_effect) {
                Answer::Better => Answer::Worse,
                Answer::Worse => Answer::Better,
                other => other,
            };
            prop_assert_eq!(answer(&back, min_effect), mirrored);
        }
    }
}
