//! Texts for the parts of a record, the same on the page, in Markdown and on the
//! terminal.

use std::collections::BTreeMap;

use unjank_host::Nanos;
use unjank_measure::number::range;
pub(crate) use unjank_measure::number::{counted, grouped};
use unjank_measure::{Change, Curve, Point, Quantity, SeriesRecord, Unit, Verdict};

use crate::visible::visible;

/// A number in its unit.
pub(crate) fn value(unit: Unit, value: f64) -> String {
    if !value.is_finite() {
        return "not a number".to_owned();
    }
    match unit {
        // Three digits, as frequencies have: 133 M/s.
        Unit::PerSecond if value >= 1e6 => Unit::Hertz.show(value).replace("Hz", "/s"),
        _ => unit.show(value),
    }
}

/// An interval, with one unit if both ends share it: `46.1–48.9 µs`,
/// `950 ns – 1.02 µs`, `−3.1 to 2.0 ms`; one number if both ends have the same digits.
pub(crate) fn interval(unit: Unit, [low, high]: [f64; 2]) -> String {
    range(&value(unit, low), &value(unit, high))
}

/// A number with its 95 % interval: `47.3 µs (46.1–48.9 µs)`.
pub(crate) fn with_interval(unit: Unit, number: f64, bounds: Option<[f64; 2]>) -> String {
    match bounds {
        Some(bounds) => format!("{} ({})", value(unit, number), interval(unit, bounds)),
        None => value(unit, number),
    }
}

/// A measured quantity with what is known of its 95 % interval: `47.3 µs (46.1–48.9 µs)`,
/// `3.20 ms (at least 2.90 ms)`.
pub(crate) fn measured(quantity: &Quantity) -> String {
    let number = value(quantity.unit, quantity.value);
    match known_of(quantity) {
        Some(known) => format!("{number} ({known})"),
        None => number,
    }
}

/// The known part of the 95 % interval of a quantity.
pub(crate) fn known_of(quantity: &Quantity) -> Option<String> {
    let unit = quantity.unit;
    match (quantity.interval, quantity.at_least) {
        (Some(bounds), _) => Some(interval(unit, bounds)),
        (None, Some(low)) => Some(format!("at least {}", value(unit, low))),
        (None, None) => None,
    }
}

/// A reason as a sentence: with a capital and a full stop.
pub(crate) fn sentence(reason: &str) -> String {
    let reason = visible(reason);
    let mut letters = reason.chars();
    let Some(first) = letters.next() else { return String::new() };
    let stop = if reason.ends_with(['.', '!', '?', '…']) { "" } else { "." };
    format!("{}{}{stop}", first.to_uppercase(), letters.as_str())
}

/// The healthy range of a verdict: `up to 100 µs`.
pub(crate) fn healthy(verdict: &Verdict) -> Option<String> {
    let bound = verdict.healthy.as_ref()?;
    let unit = verdict.measured.as_ref().map_or(Unit::Nanoseconds, |measured| measured.unit);
    Some(format!("up to {}", value(unit, bound.at_most)))
}

/// The smallest difference that a comparison could detect.
pub(crate) fn minimum_effect(verdict: &Verdict) -> Option<String> {
    let unit = verdict.effect.as_ref()?.unit;
    Some(format!("detectable from {} on", value(unit, verdict.minimum_effect?)))
}

/// A series in one line: `n 120,000, p50 12.1 µs, p99 47.3 µs, max 1.20 ms`.
pub(crate) fn series_in_brief(series: &SeriesRecord) -> String {
    let Some(summary) = series.summary else { return "no samples".to_owned() };
    let show = |sample: u64| value(series.unit, sample as f64);
    let mut text = format!(
        "n {}, p50 {}, p99 {}, max {}",
        grouped(series.n),
        show(summary.p50),
        show(summary.p99),
        show(summary.max)
    );
    if series.missed > 0 {
        text.push_str(", ");
        text.push_str(&missed(series));
    }
    text
}

/// The quantiles of a series in the order of its summary, each with its interval; `None`
/// if there are too few samples to distinguish a quantile from the maximum.
pub(crate) fn quantiles(series: &SeriesRecord) -> [Option<Quantile>; 5] {
    let known = series.quantiles_known();
    let intervals = series.summary.map_or([None; 5], |summary| summary.intervals);
    [0, 1, 2, 3, 4].map(|index| {
        let interval = intervals[index].map(|bounds| bounds.map(|bound| bound as f64));
        known[index].map(|quantile| Quantile {
            value: value(series.unit, quantile as f64),
            interval: interval.map(|bounds| self::interval(series.unit, bounds)),
        })
    })
}

/// A quantile as text.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Quantile {
    pub(crate) value: String,
    pub(crate) interval: Option<String>,
}

/// The two ends of a curve as `22 % at 0 ns`; `None` for a curve without points.
pub(crate) fn curve_ends(curve: &Curve) -> Option<[String; 2]> {
    let show = |point: &Point| {
        format!("{} at {}", value(curve.y.unit, point.y), value(curve.x.unit, point.x))
    };
    Some([show(curve.points.first()?), show(curve.points.last()?)])
}

/// The missed periods of a series: `12 missed periods (0.010 %)`.
pub(crate) fn missed(series: &SeriesRecord) -> String {
    let due = series.n.saturating_add(series.missed).max(1) as f64;
    format!(
        "{} missed {} ({})",
        grouped(series.missed),
        if series.missed == 1 { "period" } else { "periods" },
        Unit::Ratio.show(series.missed as f64 / due)
    )
}

/// Whether a change was undone at the end of the run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum PutBack {
    Yes,
    /// The knob has another value than before.
    No,
    /// The knob could not be read back.
    Unknown,
}

/// Compares the values before and after the run.
pub(crate) fn put_back(change: &Change) -> PutBack {
    match &change.after {
        Some(after) if *after == change.before => PutBack::Yes,
        Some(_) => PutBack::No,
        None => PutBack::Unknown,
    }
}

impl PutBack {
    pub(crate) fn words(self, change: &Change) -> String {
        match (self, &change.after) {
            (Self::No, Some(after)) => format!("not put back: now {}", visible(after)),
            (Self::Yes, _) => "put back".to_owned(),
            _ => "not known whether put back".to_owned(),
        }
    }
}

/// Labels as `cpu 3, backing zram`.
pub(crate) fn labels(labels: &BTreeMap<String, String>) -> String {
    let parts: Vec<String> = labels
        .iter()
        .map(|(name, value)| format!("{} {}", visible(name), visible(value)))
        .collect();
    parts.join(", ")
}

/// A name with its labels in brackets.
pub(crate) fn labelled(name: &str, with: &BTreeMap<String, String>) -> String {
    if with.is_empty() {
        visible(name).into_owned()
    } else {
        format!("{} ({})", visible(name), labels(with))
    }
}

/// A length of time: `38.2 s`, `2 min 5 s`.
pub(crate) fn duration(nanos: u64) -> String {
    let seconds = nanos / 1_000_000_000;
    match seconds {
        0..120 => Nanos(nanos).to_string(),
        120..7_200 => format!("{} min {} s", seconds / 60, seconds % 60),
        _ => format!("{} h {} min", seconds / 3_600, seconds / 60 % 60),
    }
}

/// The meaning of a label of a record.
pub(crate) fn label_meaning(label: &str) -> Option<&'static str> {
    match label {
        "interrupted" => Some("stopped before its end, with the measurements until then"),
        "modelled" => Some("numbers come from a model, not from this machine"),
        "emulated" => Some("measured on an emulated machine; times are not those of hardware"),
        "icount" => Some("time of the emulated machine counts its instructions"),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn intervals_name_a_shared_unit_once() {
        let times = |low, high| interval(Unit::Nanoseconds, [low, high]);
        assert_eq!(times(46_100.0, 48_900.0), "46.1–48.9 µs");
        assert_eq!(times(950.0, 1_020.0), "950 ns – 1.02 µs");
        assert_eq!(times(-3_100.0, 2_000.0), "−3.10 to 2.00 µs");
        assert_eq!(times(100.2, 100.4), "100 ns");
        assert_eq!(interval(Unit::PerSecond, [120_000.0, 130_000.0]), "120,000–130,000/s");
        assert_eq!(interval(Unit::Ratio, [0.1, 0.2]), "10–20 %");
    }

    #[test]
    fn a_lower_end_alone_is_shown_as_such() {
        let quantity = |interval, at_least| Quantity {
            name: "x".to_owned(),
            value: 3_200_000.0,
            unit: Unit::Nanoseconds,
            interval,
            at_least,
            n: 9,
        };
        assert_eq!(measured(&quantity(None, Some(2.9e6))), "3.20 ms (at least 2.90 ms)");
        assert_eq!(measured(&quantity(Some([2e6, 4e6]), None)), "3.20 ms (2.00–4.00 ms)");
        assert_eq!(measured(&quantity(None, None)), "3.20 ms");
    }

    #[test]
    fn numbers_have_their_unit() {
        assert_eq!(value(Unit::Count, 1_234_567.0), "1,234,567");
        assert_eq!(value(Unit::Pages, 65_536.0), "65,536 pages");
        assert_eq!(value(Unit::PerSecond, -20_000.4), "−20,000/s");
        assert_eq!(value(Unit::PerSecond, 132_780_724.0), "133 M/s");
        assert_eq!(value(Unit::Count, f64::NAN), "not a number");
    }

    #[test]
    fn long_runs_are_shown_in_minutes() {
        assert_eq!(duration(38_200_000_000), "38.2 s");
        assert_eq!(duration(125_000_000_000), "2 min 5 s");
        assert_eq!(duration(7_380_000_000_000), "2 h 3 min");
    }
}
