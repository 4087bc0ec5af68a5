//! Number types with units.

use std::fmt;
use std::ops::{Add, Sub};
use std::str::FromStr;
use std::time::Duration;

use serde::{Deserialize, Serialize};

/// A time in nanoseconds. Arithmetic saturates at both ends, so a clock that
/// steps back gives zero rather than half a millennium.
#[derive(
    Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
)]
#[serde(transparent)]
pub struct Nanos(pub u64);

impl Nanos {
    /// Zero.
    pub const ZERO: Self = Self(0);

    /// Converts from microseconds.
    pub const fn from_micros(micros: u64) -> Self {
        Self(micros.saturating_mul(1_000))
    }

    /// Converts from milliseconds.
    pub const fn from_millis(millis: u64) -> Self {
        Self(millis.saturating_mul(1_000_000))
    }

    /// The number of nanoseconds.
    pub const fn get(self) -> u64 {
        self.0
    }

    /// The time in seconds.
    pub fn as_secs_f64(self) -> f64 {
        self.0 as f64 / 1e9
    }

    /// The time multiplied by `factor`.
    #[must_use]
    pub const fn times(self, factor: u64) -> Self {
        Self(self.0.saturating_mul(factor))
    }
}

impl Add for Nanos {
    type Output = Self;

    fn add(self, other: Self) -> Self {
        Self(self.0.saturating_add(other.0))
    }
}

impl Sub for Nanos {
    type Output = Self;

    fn sub(self, other: Self) -> Self {
        Self(self.0.saturating_sub(other.0))
    }
}

impl From<Duration> for Nanos {
    fn from(duration: Duration) -> Self {
        Self(u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX))
    }
}

impl From<Nanos> for Duration {
    fn from(nanos: Nanos) -> Self {
        Self::from_nanos(nanos.0)
    }
}

/// Three significant digits in the unit that fits the size: `482 ns`, `47.3
/// µs`, `1.20 ms`, `2.50 s`.
impl fmt::Display for Nanos {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let value = self.0 as f64;
        match self.0 {
            0..1_000 => write!(f, "{} ns", self.0),
            1_000..999_500 => write!(f, "{} µs", three_digits(value / 1e3)),
            999_500..999_500_000 => write!(f, "{} ms", three_digits(value / 1e6)),
            _ => write!(f, "{} s", three_digits(value / 1e9)),
        }
    }
}

/// An amount of memory or storage in bytes.
#[derive(
    Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
)]
#[serde(transparent)]
pub struct Bytes(pub u64);

impl Bytes {
    /// Converts from KiB.
    pub const fn from_kib(kib: u64) -> Self {
        Self(kib.saturating_mul(1 << 10))
    }

    /// Converts from MiB.
    pub const fn from_mib(mib: u64) -> Self {
        Self(mib.saturating_mul(1 << 20))
    }

    /// The number of bytes.
    pub const fn get(self) -> u64 {
        self.0
    }

    /// The amount as it is typed, in the largest unit in which it is whole: `4GiB`, `4097MiB`.
    pub fn typed(self) -> String {
        const UNITS: [&str; 4] = ["KiB", "MiB", "GiB", "TiB"];
        let (mut value, mut unit) = (self.0, "");
        for larger in UNITS {
            if value == 0 || value % 1024 != 0 {
                break;
            }
            (value, unit) = (value / 1024, larger);
        }
        format!("{value}{unit}")
    }
}

impl FromStr for Bytes {
    type Err = &'static str;

    /// Parses `64MiB`, `64M`, `1GiB` and `4096`; all units are powers of 1024.
    fn from_str(text: &str) -> Result<Self, Self::Err> {
        const UNITS: [(&str, u32); 9] = [
            ("KiB", 10),
            ("MiB", 20),
            ("GiB", 30),
            ("TiB", 40),
            ("K", 10),
            ("M", 20),
            ("G", 30),
            ("T", 40),
            ("B", 0),
        ];
        let (number, shift) = UNITS
            .iter()
            .find_map(|&(unit, shift)| Some((text.strip_suffix(unit)?, shift)))
            .unwrap_or((text, 0));
        let number: Option<u64> = number.trim().parse().ok();
        number
            .and_then(|number| number.checked_mul(1 << shift))
            .map(Self)
            .ok_or("an amount of memory looks like 64MiB, 1GiB or 4096")
    }
}

/// Three significant digits in binary units: `512 B`, `32.0 MiB`.
impl fmt::Display for Bytes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        const UNITS: [&str; 5] = ["KiB", "MiB", "GiB", "TiB", "PiB"];
        if self.0 < 1024 {
            return write!(f, "{} B", self.0);
        }
        let mut value = self.0 as f64 / 1024.0;
        let mut unit = 0;
        while value >= 1023.5 && unit + 1 < UNITS.len() {
            value /= 1024.0;
            unit += 1;
        }
        write!(f, "{} {}", three_digits(value), UNITS[unit])
    }
}

/// A frequency in hertz.
#[derive(
    Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
)]
#[serde(transparent)]
pub struct Hertz(pub u64);

impl Hertz {
    /// Converts from kilohertz, the unit of cpufreq's files.
    pub const fn from_khz(khz: u64) -> Self {
        Self(khz.saturating_mul(1_000))
    }
}

/// Three significant digits: `200 MHz`, `1.20 GHz`.
impl fmt::Display for Hertz {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let value = self.0 as f64;
        match self.0 {
            0..1_000 => write!(f, "{} Hz", self.0),
            1_000..999_500 => write!(f, "{} kHz", three_digits(value / 1e3)),
            999_500..999_500_000 => write!(f, "{} MHz", three_digits(value / 1e6)),
            _ => write!(f, "{} GHz", three_digits(value / 1e9)),
        }
    }
}

/// An amount of energy in joules. A difference can be negative.
#[derive(Debug, Clone, Copy, Default, PartialEq, PartialOrd, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Joules(pub f64);

impl Joules {
    /// Converts from milliwatt hours: 3.6 J each.
    pub fn from_milliwatt_hours(milliwatt_hours: f64) -> Self {
        Self(milliwatt_hours * 3.6)
    }

    /// The energy in milliwatt hours.
    pub fn as_milliwatt_hours(self) -> f64 {
        self.0 / 3.6
    }
}

impl Add for Joules {
    type Output = Self;

    fn add(self, other: Self) -> Self {
        Self(self.0 + other.0)
    }
}

impl Sub for Joules {
    type Output = Self;

    fn sub(self, other: Self) -> Self {
        Self(self.0 - other.0)
    }
}

/// A power in watts.
#[derive(Debug, Clone, Copy, Default, PartialEq, PartialOrd, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Watts(pub f64);

impl Watts {
    /// Converts from milliwatts.
    pub fn from_milliwatts(milliwatts: f64) -> Self {
        Self(milliwatts / 1e3)
    }

    /// The energy of this power over `time`.
    #[must_use]
    pub fn over(self, time: Nanos) -> Joules {
        Joules(self.0 * time.as_secs_f64())
    }
}

impl Add for Watts {
    type Output = Self;

    fn add(self, other: Self) -> Self {
        Self(self.0 + other.0)
    }
}

/// Formats a number from 1 to 1023, or beyond, with three significant digits.
fn three_digits(value: f64) -> String {
    if value < 9.995 {
        format!("{value:.2}")
    } else if value < 99.95 {
        format!("{value:.1}")
    } else {
        format!("{value:.0}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nanoseconds_print_three_digits_in_a_fitting_unit() {
        let texts: Vec<String> =
            [0, 999, 1_000, 47_263, 999_499, 999_500, 2_500_000, 66_000_000, 61_000_000_000]
                .map(|n| Nanos(n).to_string())
                .into();
        assert_eq!(
            texts,
            [
                "0 ns", "999 ns", "1.00 µs", "47.3 µs", "999 µs", "1.00 ms", "2.50 ms", "66.0 ms",
                "61.0 s"
            ]
        );
    }

    #[test]
    fn a_typed_amount_is_exact() {
        for text in ["0", "512", "4097MiB", "4GiB", "1KiB", "5000TiB"] {
            assert_eq!(text.parse::<Bytes>().unwrap().typed(), text);
        }
        assert_eq!(Bytes::from_kib(4 << 20).typed(), "4GiB");
    }

    #[test]
    fn arithmetic_saturates() {
        assert_eq!(Nanos(1) - Nanos(2), Nanos::ZERO);
        assert_eq!(Nanos(u64::MAX) + Nanos(1), Nanos(u64::MAX));
        assert_eq!(Nanos::from(Duration::MAX), Nanos(u64::MAX));
    }

    #[test]
    fn a_power_over_a_time_is_an_energy() {
        assert_eq!(Watts::from_milliwatts(500.0).over(Nanos::from_millis(2_000)), Joules(1.0));
        assert_eq!(Joules::from_milliwatt_hours(10.0), Joules(36.0));
        assert!((Joules(36.0).as_milliwatt_hours() - 10.0).abs() < 1e-12);
        assert_eq!(Joules(1.0) + Joules(2.0) - Joules(4.0), Joules(-1.0));
    }

    #[test]
    fn bytes_and_hertz_print_their_units() {
        assert_eq!(Bytes(512).to_string(), "512 B");
        assert_eq!(Bytes::from_mib(32).to_string(), "32.0 MiB");
        assert_eq!(Bytes(u64::MAX).to_string(), "16384 PiB");
        assert_eq!(Hertz::from_khz(1_200_000).to_string(), "1.20 GHz");
        assert_eq!(Hertz::from_khz(200_000).to_string(), "200 MHz");
    }
}
