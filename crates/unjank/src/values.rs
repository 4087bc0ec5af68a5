//! Parsers of command-line values, and their error messages.

use jiff::SignedDuration;
use unjank_host::Nanos;
use unjank_host::sched::Priority;
use unjank_host::thread_pattern::ThreadPattern;

/// Parses a duration longer than zero: `1ms`, `200us`, `1m30s`; a number alone is
/// seconds.
pub(crate) fn duration(text: &str) -> Result<Nanos, String> {
    match u64::try_from(nanoseconds(text)?) {
        Ok(nanos) if nanos > 0 => Ok(Nanos(nanos)),
        _ => Err("it must be longer than zero, and shorter than 580 years".to_owned()),
    }
}

/// Parses a duration that may be zero: `0`, `0s`, `400ms`.
pub(crate) fn duration_or_zero(text: &str) -> Result<Nanos, String> {
    let nanos = u64::try_from(nanoseconds(text)?);
    nanos.map(Nanos).map_err(|_| "it must be 0 or longer, and shorter than 580 years".to_owned())
}

fn nanoseconds(text: &str) -> Result<i128, String> {
    let parsed = match text.parse::<f64>() {
        Ok(seconds) => SignedDuration::try_from_secs_f64(seconds).ok(),
        Err(_) => text.parse().ok(),
    };
    let duration: SignedDuration =
        parsed.ok_or("a length of time looks like 1ms, 200us, 10s or 10 (seconds)")?;
    Ok(duration.as_nanos())
}

/// A duration as it is typed: [`duration_or_zero`] parses the same one.
pub(crate) fn typed(duration: Nanos) -> String {
    const UNITS: [(&str, u64); 3] = [("s", 1_000_000_000), ("ms", 1_000_000), ("us", 1_000)];
    let nanos = duration.get();
    let whole = UNITS.into_iter().find(|(_, unit)| nanos.is_multiple_of(*unit));
    let (name, unit) = whole.unwrap_or(("ns", 1));
    format!("{}{name}", nanos / unit)
}

/// A pattern of thread names: `RenderThread`, `GC*`.
pub(crate) fn thread_pattern(text: &str) -> Result<ThreadPattern, String> {
    ThreadPattern::new(text).map_err(|error| error.to_string())
}

/// Parses an amount of memory: `64MiB`, `1GiB`, `4096`.
pub(crate) fn bytes(text: &str) -> Result<unjank_host::Bytes, String> {
    text.parse().map_err(str::to_owned)
}

/// Parses a share or a difference: `5%` or `0.05`.
pub(crate) fn share(text: &str) -> Result<f64, String> {
    let (number, unit) = text.strip_suffix('%').map_or((text, 1.0), |number| (number, 100.0));
    match number.trim().parse::<f64>() {
        Ok(number) if (0.0..=10.0).contains(&(number / unit)) => Ok(number / unit),
        _ => Err("expected a share such as 5% or 0.05, at most 10 times the whole".to_owned()),
    }
}

/// Parses a share of a whole, more than nothing of it: `1%` or `0.01`.
pub(crate) fn share_of_whole(text: &str) -> Result<f64, String> {
    match share(text) {
        Ok(share) if share > 0.0 && share <= 1.0 => Ok(share),
        _ => Err("expected a share such as 1% or 0.01, above 0 and at most 100%".to_owned()),
    }
}

/// A real-time priority, 1 to 99.
pub(crate) fn priority(text: &str) -> Result<Priority, String> {
    let number: u8 = text.parse().map_err(|_| format!("{text:?} is not a number from 1 to 99"))?;
    Priority::new(number).map_err(|error| error.to_string())
}

/// Parses a number of rows, or `all`.
pub(crate) fn rows(text: &str) -> Result<usize, String> {
    match text.parse() {
        _ if text == "all" => Ok(usize::MAX),
        Ok(rows) if rows > 0 => Ok(rows),
        _ => Err("expected a number of rows, such as 50, or all".to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_have_a_unit_or_are_seconds_and_are_positive() {
        assert_eq!(duration("1ms"), Ok(Nanos::from_millis(1)));
        assert_eq!(duration("200us"), Ok(Nanos::from_micros(200)));
        assert_eq!(duration("1m30s"), Ok(Nanos::from_millis(90_000)));
        assert_eq!(duration("10"), duration("10s"));
        assert_eq!(duration("0.5"), duration("500ms"));
        for wrong in ["0s", "0", "-5", "-5ms", "", "soon", "nan", "inf", "1e30", "99999999999h"] {
            assert!(duration(wrong).is_err(), "{wrong}");
        }
        assert_eq!(duration_or_zero("0"), Ok(Nanos::ZERO));
        assert_eq!(duration_or_zero("5ms"), duration("5ms"));
        assert_eq!(duration_or_zero("0us"), Ok(Nanos::ZERO));
        for wrong in ["-1ms", "-1", "", "1e30"] {
            assert!(duration_or_zero(wrong).is_err(), "{wrong}");
        }
        for text in ["0s", "1ns", "1500us", "90ms", "120s"] {
            assert_eq!(typed(duration_or_zero(text).unwrap()), text);
        }
    }

    #[test]
    fn shares_are_percent_or_parts_of_one() {
        assert_eq!(share("5%"), Ok(0.05));
        assert_eq!(share("0.05"), Ok(0.05));
        assert_eq!(share("0"), Ok(0.0));
        assert_eq!(share("150%"), Ok(1.5));
        for wrong in ["", "%", "-1%", "x", "NaN", "inf", "50", "1001%"] {
            assert!(share(wrong).is_err(), "{wrong}");
        }
        assert_eq!(share_of_whole("1"), share_of_whole("100%"));
        for wrong in ["0", "0%", "-1", "2", "101%", "some", "NaN"] {
            assert!(share_of_whole(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn memory_is_given_in_binary_units() {
        assert_eq!(bytes("64MiB"), Ok(unjank_host::Bytes::from_mib(64)));
        assert_eq!(bytes("64M"), bytes("64MiB"));
        assert_eq!(bytes("4096"), Ok(unjank_host::Bytes(4096)));
        for wrong in ["", "-1", "MiB", "99999999999GiB", "1.5GiB"] {
            assert!(bytes(wrong).is_err(), "{wrong}");
        }
    }
}
