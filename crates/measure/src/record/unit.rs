//! Units, and how a number in one of them is written for people.

use serde::{Deserialize, Serialize};
use unjank_host::{Bytes, Hertz, Nanos};

/// The unit of a series, fact or axis.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Unit {
    /// Nanoseconds: the unit of every series that does not say otherwise.
    #[serde(rename = "ns")]
    Nanoseconds,
    /// A plain number of things.
    #[serde(rename = "count")]
    Count,
    /// Bytes.
    #[serde(rename = "bytes")]
    Bytes,
    /// Pages of the machine's page size.
    #[serde(rename = "pages")]
    Pages,
    /// A share, 0–1, or a quotient of two like quantities.
    #[serde(rename = "ratio")]
    Ratio,
    /// Events per second.
    #[serde(rename = "per_second")]
    PerSecond,
    /// Bytes per second.
    #[serde(rename = "bytes_per_second")]
    BytesPerSecond,
    /// Hertz.
    #[serde(rename = "hertz")]
    Hertz,
    /// Joules.
    #[serde(rename = "joules")]
    Joules,
    /// Watts.
    #[serde(rename = "watts")]
    Watts,
}

impl Unit {
    /// `value` with its unit, three significant digits.
    pub fn show(self, value: f64) -> String {
        let whole = || value.round().clamp(0.0, u64::MAX as f64) as u64;
        match self {
            Self::Nanoseconds if value < 0.0 => format!("−{}", Self::Nanoseconds.show(-value)),
            Self::Nanoseconds if value < 99.95 && value.fract() != 0.0 => {
                format!("{} ns", digits(value))
            }
            Self::Nanoseconds => Nanos(whole()).to_string(),
            Self::Bytes => Bytes(whole()).to_string(),
            Self::Hertz => Hertz(whole()).to_string(),
            Self::Count => digits(value),
            Self::Pages => format!("{} pages", digits(value)),
            Self::Ratio => format!("{} %", digits(value * 100.0)),
            Self::PerSecond => format!("{}/s", digits(value)),
            Self::BytesPerSecond => format!("{}/s", Bytes(whole())),
            Self::Joules => small(value, "J"),
            Self::Watts => small(value, "W"),
        }
    }
}

/// With `unit`, or thousandths or millionths of it.
fn small(value: f64, unit: &str) -> String {
    match value.abs() {
        0.0 => format!("0 {unit}"),
        0.9995.. => format!("{} {unit}", digits(value)),
        0.000_999_5.. => format!("{} m{unit}", digits(value * 1e3)),
        _ => format!("{} µ{unit}", digits(value * 1e6)),
    }
}

/// Whole numbers as they are, others with about three significant digits.
fn digits(value: f64) -> String {
    let size = value.abs();
    if value.fract() == 0.0 && size < 1e15 {
        format!("{value}")
    } else if size < 10.0 {
        format!("{value:.2}")
    } else if size < 100.0 {
        format!("{value:.1}")
    } else {
        format!("{value:.0}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_shown_with_their_unit() {
        assert_eq!(Unit::Nanoseconds.show(47_263.0), "47.3 µs");
        assert_eq!(Unit::Nanoseconds.show(24.83), "24.8 ns");
        assert_eq!(Unit::Nanoseconds.show(-1_500.0), "−1.50 µs");
        assert_eq!(Unit::Ratio.show(0.953), "95.3 %");
        assert_eq!(Unit::Count.show(120_000.0), "120000");
        assert_eq!(Unit::BytesPerSecond.show(1_048_576.0), "1.00 MiB/s");
        assert_eq!(Unit::Joules.show(57.73), "57.7 J");
        assert_eq!(Unit::Joules.show(-0.0254), "-25.4 mJ");
        assert_eq!(Unit::Watts.show(0.000_2), "200 µW");
        assert_eq!(Unit::Watts.show(0.0), "0 W");
    }
}
