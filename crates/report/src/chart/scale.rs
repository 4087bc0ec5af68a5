//! Scales: from values to positions on the paper.

/// Values that span more decades than this are shown on a logarithmic axis.
pub(crate) const DECADES_FOR_LOG: f64 = 1.5;

/// The range of values of an axis.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Domain {
    pub(crate) low: f64,
    pub(crate) high: f64,
    /// Whether the axis is logarithmic.
    pub(crate) log: bool,
}

impl Domain {
    /// A linear range.
    pub(crate) fn linear(low: f64, high: f64) -> Self {
        Self { low, high, log: false }
    }

    /// A logarithmic range; both ends are positive.
    pub(crate) fn log(low: f64, high: f64) -> Self {
        Self { low, high, log: true }
    }

    /// The range of all finite `values`, with a margin.
    ///
    /// Logarithmic if the positive values span more than a decade and a half and none
    /// is negative (a zero then lies on the lower edge). Linear axes start at zero,
    /// unless all values are too close together to be distinguished.
    pub(crate) fn covering(values: impl IntoIterator<Item = f64>) -> Self {
        Self::covering_log_above(DECADES_FOR_LOG, values)
    }

    /// As [`covering`](Self::covering), but logarithmic above `decades` decades.
    pub(crate) fn covering_log_above(decades: f64, values: impl IntoIterator<Item = f64>) -> Self {
        let mut low = f64::INFINITY;
        let mut high = f64::NEG_INFINITY;
        let mut least_positive = f64::INFINITY;
        for value in values.into_iter().filter(|value| value.is_finite()) {
            low = low.min(value);
            high = high.max(value);
            if value > 0.0 {
                least_positive = least_positive.min(value);
            }
        }
        if low > high {
            return Self::linear(0.0, 1.0);
        }
        if low >= 0.0 && high > 0.0 && high.log10() - least_positive.log10() > decades {
            let margin = 10_f64.powf((high.log10() - least_positive.log10()) * 0.05);
            return Self::log(
                (least_positive / margin).max(f64::MIN_POSITIVE),
                (high * margin).min(f64::MAX),
            );
        }
        if low >= high {
            return match low {
                only if only > 0.0 => Self::linear(0.0, (only * 1.25).min(f64::MAX)),
                only if only < 0.0 => Self::linear((only * 1.25).max(f64::MIN), 0.0),
                _ => Self::linear(0.0, 1.0),
            };
        }
        let close = low > 0.0 && (high - low) / high < 0.1;
        let from = if close { low } else { low.min(0.0) };
        let to = high.max(if close { high } else { 0.0 });
        let margin = to / 20.0 - from / 20.0;
        let below = if from == 0.0 { 0.0 } else { margin };
        Self::linear((from - below).max(f64::MIN), (to + margin).min(f64::MAX))
    }

    /// The range of a horizontal axis: all finite `places`, in ascending order, without
    /// a margin. Logarithmic if that spaces them more evenly, as for sizes that double.
    pub(crate) fn along(places: &[f64]) -> Self {
        let (Some(&low), Some(&high)) = (places.first(), places.last()) else {
            return Self::linear(0.0, 1.0);
        };
        if low >= high {
            return Self::covering([low]);
        }
        let unevenness = |position: fn(f64) -> f64| {
            let length = position(high) - position(low);
            let gaps =
                places.windows(2).map(|pair| (position(pair[1]) - position(pair[0])) / length);
            gaps.map(|gap| gap * gap).sum::<f64>()
        };
        if low > 0.0 && unevenness(f64::ln) < unevenness(|place| place) {
            Self::log(low, high)
        } else {
            Self::linear(low, high)
        }
    }

    /// Maps the range onto the paper, from `start` to `end`.
    pub(crate) fn onto(self, start: f64, end: f64) -> Scale {
        Scale { domain: self, start, end }
    }

    /// The position of `value`, 0 at the low end and 1 at the high end.
    fn share(self, value: f64) -> f64 {
        let position = |value: f64| if self.log { value.ln() } else { value / 2.0 };
        let (low, high) = (position(self.low), position(self.high));
        let share = (position(value) - low) / (high - low);
        if share.is_nan() { 0.0 } else { share }
    }
}

/// A range of values mapped onto a range of the paper.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Scale {
    pub(crate) domain: Domain,
    pub(crate) start: f64,
    pub(crate) end: f64,
}

impl Scale {
    /// The position of `value`; values outside are put on the nearer edge.
    pub(crate) fn at(&self, value: f64) -> f64 {
        let share = self.domain.share(value).clamp(0.0, 1.0);
        self.start + share * (self.end - self.start)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn more_than_a_decade_and_a_half_is_logarithmic() {
        assert!(Domain::covering([1.0, 40.0]).log);
        assert!(!Domain::covering([1.0, 30.0]).log);
        assert!(Domain::covering([0.0, 1.0, 100.0]).log, "a zero among them changes nothing");
        assert!(!Domain::covering([-1.0, 1.0, 100.0]).log);
    }

    #[test]
    fn linear_axes_start_at_zero_unless_all_values_are_close() {
        assert_eq!(Domain::covering([5.0, 10.0]), Domain::linear(0.0, 10.5));
        let close = Domain::covering([1000.0, 1010.0]);
        assert!(close.low > 990.0 && close.high < 1020.0, "{close:?}");
    }

    #[test]
    fn horizontal_axes_follow_the_spacing_of_their_points() {
        assert!(Domain::along(&[1.0, 2.0, 4.0, 8.0, 1024.0]).log);
        assert_eq!(Domain::along(&[0.0, 1.0, 2.0, 900.0]), Domain::linear(0.0, 900.0));
        assert_eq!(Domain::along(&[1.0, 2.0, 3.0, 4.0, 5.0]), Domain::linear(1.0, 5.0));
        assert_eq!(Domain::along(&[]), Domain::linear(0.0, 1.0));
    }

    #[test]
    fn places_follow_the_scale() {
        let linear = Domain::linear(0.0, 10.0).onto(100.0, 200.0);
        let log = Domain::log(1.0, 100.0).onto(200.0, 0.0);
        let places = [linear.at(2.5), log.at(10.0), log.at(0.0), log.at(1e9)];
        assert_eq!(places.map(|place| place.round() as i32), [125, 100, 200, 0]);
    }

    proptest! {
        #[test]
        fn every_value_lands_on_the_paper(values: Vec<f64>, any: f64) {
            let domain = Domain::covering(values.iter().copied());
            prop_assert!(domain.low < domain.high, "{domain:?}");
            let scale = domain.onto(10.0, 90.0);
            for value in values.into_iter().chain([any]) {
                let place = scale.at(value);
                prop_assert!((10.0..=90.0).contains(&place), "{value} at {place}");
            }
        }
    }
}
