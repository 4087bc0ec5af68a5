//! The line in which the load app reports its times.

use std::fmt;

use unjank_host::{Error, Nanos, Result};

/// The times of the two parts of a launch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Timing {
    /// Time of the basic work, which every app does to come on screen.
    pub basic: Nanos,
    /// Time of the generated load, which follows the basic work.
    pub load: Nanos,
}

/// The beginning of the line; it marks the end of the launch.
pub(crate) const ON_SCREEN: &str = "on screen: ";

impl Timing {
    /// Reads the line that the app prints.
    ///
    /// # Errors
    /// `Parse` for any other line.
    pub fn parse(line: &str) -> Result<Self> {
        let read = || {
            let parts = line.strip_prefix(ON_SCREEN)?.trim_end().strip_prefix("basic ")?;
            let (basic, load) = parts.split_once(", load ")?;
            Some(Self { basic: milliseconds(basic)?, load: milliseconds(load)? })
        };
        read().ok_or_else(|| {
            Error::parse("the load app's output", 1, "expected the line \"on screen: …\"")
        })
    }
}

/// `on screen: basic 512.345678 ms, load 100.200300 ms`.
impl fmt::Display for Timing {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let milliseconds =
            |time: Nanos| format!("{}.{:06} ms", time.get() / 1_000_000, time.get() % 1_000_000);
        let (basic, load) = (milliseconds(self.basic), milliseconds(self.load));
        write!(f, "{ON_SCREEN}basic {basic}, load {load}")
    }
}

/// A number with exactly six decimals, and its unit.
fn milliseconds(text: &str) -> Option<Nanos> {
    let (whole, rest) = text.strip_suffix(" ms")?.split_once('.')?;
    let digits = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
    if rest.len() != 6 || !digits(whole) || !digits(rest) {
        return None;
    }
    let whole: u64 = whole.parse().ok()?;
    whole.checked_mul(1_000_000)?.checked_add(rest.parse().ok()?).map(Nanos)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn the_line_is_as_documented() {
        let timing = Timing { basic: Nanos(512_345_678), load: Nanos(100_200_300) };
        assert_eq!(timing.to_string(), "on screen: basic 512.345678 ms, load 100.200300 ms");
        assert_eq!(
            Timing::parse("on screen: basic 0.000001 ms, load 0.000000 ms\n").unwrap().basic,
            Nanos(1)
        );
    }

    #[test]
    fn any_other_line_is_refused() {
        for line in [
            "",
            "on screen",
            "on screen: basic 1 ms, load 2 ms",
            "on screen: basic 1.5 ms, load 2.000000 ms",
            "on screen: basic +1.000000 ms, load 2.000000 ms",
            "on screen: basic 99999999999999999999.000000 ms, load 2.000000 ms",
        ] {
            assert!(Timing::parse(line).is_err(), "{line:?}");
        }
    }

    proptest! {
        #[test]
        fn a_timing_survives_its_line(basic: u64, load: u64) {
            let timing = Timing { basic: Nanos(basic), load: Nanos(load) };
            prop_assert_eq!(Timing::parse(&timing.to_string()).unwrap(), timing);
        }

        #[test]
        fn any_text_is_read_or_refused(text in ".{0,80}") {
            let _read_or_refused = Timing::parse(&text);
        }
    }
}
