//! The ticks of an axis: round numbers.

use unjank_measure::Unit;

use crate::chart::scale::Domain;

/// The kind of round numbers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Round {
    /// 1, 2 and 5 times powers of ten.
    Decimal,
    /// Powers of two, for bytes.
    Binary,
}

impl Round {
    /// The round numbers of this unit.
    pub(crate) fn of(unit: Unit) -> Self {
        match unit {
            Unit::Bytes | Unit::BytesPerSecond => Self::Binary,
            _ => Self::Decimal,
        }
    }

    /// The smallest round number that is not below `least`.
    fn up(self, least: f64) -> f64 {
        match self {
            Self::Binary => least.log2().ceil().exp2(),
            Self::Decimal => {
                let power = 10_f64.powf(least.log10().floor());
                [1.0, 2.0, 5.0]
                    .map(|factor| factor * power)
                    .into_iter()
                    .find(|step| *step >= least * 0.999_999)
                    .unwrap_or(10.0 * power)
            }
        }
    }
}

/// Round numbers within `domain`, ascending: about `most`, and at most one more.
pub(crate) fn ticks(domain: Domain, most: usize, round: Round) -> Vec<f64> {
    let most = most.max(2);
    if domain.log { log(domain, most, round) } else { linear(domain, most, round) }
}

fn linear(domain: Domain, most: usize, round: Round) -> Vec<f64> {
    let step = round.up((domain.high / most as f64) - (domain.low / most as f64));
    let first = (domain.low / step).ceil();
    // Adding zero turns a negative zero into a plain one.
    (0..=most)
        .map(|index| (first + index as f64) * step + 0.0)
        .take_while(|tick| *tick <= domain.high)
        .filter(|tick| tick.is_finite())
        .collect()
}

fn log(domain: Domain, most: usize, round: Round) -> Vec<f64> {
    let (base, strides): (f64, &[i32]) = match round {
        Round::Decimal => (10.0, &[1, 2, 3, 6, 12, 24, 48, 96, 192, 384]),
        Round::Binary => (2.0, &[1, 2, 5, 10, 20, 40, 80, 160, 320, 640, 1280]),
    };
    let exponent = |value: f64| value.ln() / base.ln();
    // A little wider, so that rounding does not lose a power at the edge.
    let (low, high) = (exponent(domain.low) - 1e-9, exponent(domain.high) + 1e-9);
    let within = |tick: &f64| *tick >= domain.low && *tick <= domain.high;
    let powers = |stride: i32| -> Vec<f64> {
        let first = (low / f64::from(stride)).ceil() as i32;
        let last = (high / f64::from(stride)).floor() as i32;
        (first..=last).map(|index| base.powi(index * stride)).filter(within).collect()
    };
    let whole = strides
        .iter()
        .map(|stride| powers(*stride))
        .find(|ticks| ticks.len() <= most)
        .unwrap_or_default();
    if round == Round::Binary || high - low > 6.0 {
        return whole;
    }
    // Few decades: marks between them, as many as fit.
    let decades = (low.floor() as i32)..=(high.ceil() as i32);
    [&[1.0, 2.0, 5.0][..], &[1.0, 3.0]]
        .into_iter()
        .map(|factors| {
            decades
                .clone()
                .flat_map(|power| factors.iter().map(move |factor| factor * 10_f64.powi(power)))
                .filter(within)
                .collect::<Vec<_>>()
        })
        .find(|ticks| ticks.len() <= most)
        .unwrap_or(whole)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn linear_ticks_are_round() {
        let marks = |low, high| ticks(Domain::linear(low, high), 5, Round::Decimal);
        assert_eq!(marks(0.0, 10.0), [0.0, 2.0, 4.0, 6.0, 8.0, 10.0]);
        assert_eq!(marks(0.0, 47.0), [0.0, 10.0, 20.0, 30.0, 40.0]);
        assert_eq!(marks(-3.0, 3.0), [-2.0, 0.0, 2.0]);
        assert_eq!(marks(996.0, 1014.0), [1000.0, 1005.0, 1010.0]);
    }

    #[test]
    fn bytes_are_marked_at_powers_of_two() {
        let marks = ticks(Domain::linear(0.0, 3_000_000.0), 4, Round::Binary);
        assert_eq!(marks, [0.0, 1_048_576.0, 2_097_152.0]);
        let marks = ticks(Domain::log(1000.0, 5e6), 4, Round::Binary);
        assert_eq!(marks, [1024.0, 32_768.0, 1_048_576.0]);
    }

    #[test]
    fn log_ticks_are_decades_or_parts_of_them() {
        let marks = |low, high| ticks(Domain::log(low, high), 6, Round::Decimal);
        assert_eq!(marks(900.0, 2e6), [1e3, 1e4, 1e5, 1e6]);
        assert_eq!(marks(900.0, 6e4), [1e3, 2e3, 5e3, 1e4, 2e4, 5e4]);
        assert_eq!(marks(1.0, 1e12), [1.0, 1e3, 1e6, 1e9, 1e12]);
    }

    proptest! {
        #[test]
        fn ticks_are_few_ascending_and_inside(
            values in prop::collection::vec(any::<f64>(), 0..6), most in 2_usize..12, bytes: bool
        ) {
            let domain = Domain::covering(values);
            let round = if bytes { Round::Binary } else { Round::Decimal };
            let marks = ticks(domain, most, round);
            prop_assert!(marks.len() <= most + 1, "{} ticks", marks.len());
            prop_assert!(marks.is_sorted_by(|a, b| a < b), "{marks:?}");
            prop_assert!(marks.iter().all(|tick| domain.low <= *tick && *tick <= domain.high));
        }
    }
}
