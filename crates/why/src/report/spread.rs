//! The spread of values over several launches.

use unjank_measure::stats::order;

/// The spread of several values. From six values on, their median has an interval.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Spread {
    /// The 95 % interval of the median.
    Interval([f64; 2]),
    /// The least and the most of two to five values.
    Range([f64; 2]),
}

impl Spread {
    /// The median and the spread of values. A single value has no spread; without values, `None`.
    pub(super) fn of(values: &mut [f64]) -> Option<(f64, Option<Self>)> {
        let (median, interval) = order::median(values)?;
        let spread = match (interval, values) {
            (Some(interval), _) => Some(Self::Interval(interval)),
            (None, [least, .., most]) => Some(Self::Range([*least, *most])),
            _ => None,
        };
        Some((median, spread))
    }

    /// The lower and the upper end.
    pub const fn ends(self) -> [f64; 2] {
        match self {
            Self::Interval(ends) | Self::Range(ends) => ends,
        }
    }

    /// The ends of an interval; `None` for a range.
    pub fn interval(self) -> Option<[f64; 2]> {
        match self {
            Self::Interval(ends) => Some(ends),
            Self::Range(_) => None,
        }
    }

    /// The ends of a range; `None` for an interval.
    pub fn range(self) -> Option<[f64; 2]> {
        match self {
            Self::Interval(_) => None,
            Self::Range(ends) => Some(ends),
        }
    }

    /// The spread of the negated values, without negative zeros.
    pub(super) fn negated(self) -> Self {
        let negate = |[low, high]: [f64; 2]| [0.0 - high, 0.0 - low];
        match self {
            Self::Interval(ends) => Self::Interval(negate(ends)),
            Self::Range(ends) => Self::Range(negate(ends)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn few_values_have_a_range_and_no_interval() {
        assert_eq!(Spread::of(&mut []), None);
        assert_eq!(Spread::of(&mut [3.0]), Some((3.0, None)));
        let few = Spread::of(&mut [3.0, 1.0, 2.0, 9.0, 4.0]).unwrap().1.unwrap();
        assert_eq!((few, few.interval()), (Spread::Range([1.0, 9.0]), None));
        let mut many: Vec<f64> = (1..=20).map(f64::from).collect();
        let many = Spread::of(&mut many).unwrap().1.unwrap();
        assert_eq!((many.interval(), many.range()), (Some([6.0, 15.0]), None));
        assert_eq!(Spread::Range([0.0, 2.0]).negated(), Spread::Range([-2.0, 0.0]));
    }
}
