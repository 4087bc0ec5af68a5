//! Units, and how numbers are printed with them.

use serde::{Deserialize, Serialize};
use unjank_host::{Bytes, Hertz, Nanos};

use crate::number::decimal;

/// The unit of a series, fact or axis.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Unit {
    /// Nanoseconds: the default unit of a series.
    #[serde(rename = "ns")]
    Nanoseconds,
    /// A number of things.
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
    /// A quotient of two like quantities, as a factor.
    #[serde(rename = "times")]
    Times,
    /// A relative difference: 0.01 is one percent more.
    #[serde(rename = "change")]
    Change,
    /// Events per second.
    #[serde(rename = "per_second")]
    PerSecond,
    /// Bytes per second.
    #[serde(rename = "bytes_per_second")]
    BytesPerSecond,
    /// Hertz.
    #[serde(rename = "hertz")]
    Hertz,
    /// Watt hours.
    #[serde(rename = "watt_hours")]
    WattHours,
    /// Joules.
    #[serde(rename = "joules")]
    Joules,
    /// Watts.
    #[serde(rename = "watts")]
    Watts,
}

impl Unit {
    /// `value` with its unit and three significant digits, a resolution of a
    /// tenth of a percent to one percent.
    pub fn show(self, value: f64) -> String {
        self.show_with(value, 3)
    }

    /// `value` with its unit and `significant` digits; times, sizes and
    /// frequencies always have three.
    pub fn show_with(self, value: f64, significant: u8) -> String {
        let whole = || value.round().clamp(0.0, u64::MAX as f64) as u64;
        let digits = |value| digits(value, significant);
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
            Self::Times => times(value),
            Self::Change => signed(value),
            Self::PerSecond => format!("{}/s", digits(value)),
            Self::BytesPerSecond => format!("{}/s", Bytes(whole())),
            Self::WattHours => small(value, "Wh", significant),
            Self::Joules => small(value, "J", significant),
            Self::Watts => small(value, "W", significant),
        }
    }
}

/// Three significant digits, however small: `1.31×`.
fn times(value: f64) -> String {
    match value.abs() {
        0.0 | 1.0 | 100.0.. => format!("{value:.0}×"),
        10.0.. => format!("{value:.1}×"),
        0.1.. => format!("{value:.2}×"),
        0.001.. => format!("{value:.3}×"),
        _ => format!("{value:.0e}×"),
    }
}

/// In percent, with its sign: `−3.34 %`.
fn signed(value: f64) -> String {
    let sign = if value.is_sign_negative() { "−" } else { "+" };
    format!("{sign}{} %", decimal(&format!("{:.2}", value.abs() * 100.0)))
}

/// With `unit`, or thousandths or millionths of it.
fn small(value: f64, unit: &str, significant: u8) -> String {
    let digits = |value| digits(value, significant);
    match value.abs() {
        0.0 => format!("0 {unit}"),
        0.9995.. => format!("{} {unit}", digits(value)),
        0.000_999_5.. => format!("{} m{unit}", digits(value * 1e3)),
        _ => format!("{} µ{unit}", digits(value * 1e6)),
    }
}

/// Whole numbers with all digits, others with `significant` ones, those below one
/// with as many decimals.
fn digits(value: f64, significant: u8) -> String {
    let size = value.abs();
    if value.fract() == 0.0 && size < 1e15 {
        return decimal(&format!("{value}"));
    }
    // Infinite if it left the range of its type when it was scaled.
    let before = (size.max(1.0).log10().floor() as usize).saturating_add(1);
    let decimals = usize::from(significant).saturating_sub(before);
    decimal(&format!("{value:.decimals$}"))
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
        assert_eq!(Unit::Ratio.show(f64::MAX), "inf %");
        assert_eq!(Unit::Count.show(120_000.0), "120,000");
        assert_eq!(Unit::Count.show(-1_234.56), "−1,235");
        assert_eq!(Unit::Pages.show(65_536.0), "65,536 pages");
        assert_eq!(Unit::BytesPerSecond.show(1_048_576.0), "1.00 MiB/s");
        assert_eq!(Unit::Joules.show(57.73), "57.7 J");
        assert_eq!(Unit::Joules.show(-0.0254), "−25.4 mJ");
        assert_eq!(Unit::Watts.show(0.000_2), "200 µW");
        assert_eq!(Unit::Watts.show(0.0), "0 W");
        assert_eq!(Unit::WattHours.show(0.005_023), "5.02 mWh");
        assert_eq!(Unit::WattHours.show_with(0.005_023_12, 5), "5.0231 mWh");
        assert_eq!(Unit::Count.show(0.0512), "0.05");
        assert_eq!(Unit::Change.show(-0.0334), "−3.34 %");
        let factors = [123.4, 12.34, 1.234, 0.1234, 0.01234, 0.000_123_4, 1.0];
        assert_eq!(
            factors.map(|factor| Unit::Times.show(factor)),
            ["123×", "12.3×", "1.23×", "0.12×", "0.012×", "1e-4×", "1×"]
        );
    }
}
