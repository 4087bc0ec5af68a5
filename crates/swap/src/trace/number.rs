//! Parses numbers exactly, without floating point.

use unjank_host::Nanos;

/// A decimal number that fits 64 bits; digits only.
#[inline]
pub(super) fn decimal(text: &[u8]) -> Option<u64> {
    if text.is_empty() || text.len() > 20 {
        return None;
    }
    let mut value = 0_u64;
    // Nineteen digits always fit.
    let safe = text.len() < 20;
    for byte in text {
        let digit = byte.wrapping_sub(b'0');
        if digit > 9 {
            return None;
        }
        value = if safe {
            value * 10 + u64::from(digit)
        } else {
            value.checked_mul(10)?.checked_add(u64::from(digit))?
        };
    }
    Some(value)
}

/// A hexadecimal number that fits 64 bits, with or without `0x`.
pub(super) fn hexadecimal(text: &[u8]) -> Option<u64> {
    let digits = text.strip_prefix(b"0x").unwrap_or(text);
    if digits.is_empty() || digits.len() > 16 {
        return None;
    }
    digits
        .iter()
        .try_fold(0_u64, |value, byte| Some(value << 4 | u64::from((*byte as char).to_digit(16)?)))
}

/// Seconds with a fraction of any length, truncated to nanoseconds: `17284.993652`.
#[inline]
pub(super) fn seconds(text: &[u8]) -> Option<Nanos> {
    let (whole, fraction) = match memchr::memchr(b'.', text) {
        Some(dot) => (&text[..dot], &text[dot + 1..]),
        None => (text, &b""[..]),
    };
    if whole.is_empty() && fraction.is_empty() {
        return None;
    }
    let whole = if whole.is_empty() { 0 } else { decimal(whole)? };
    let mut nanos = 0;
    let mut worth = 100_000_000;
    for byte in fraction {
        let digit = byte.wrapping_sub(b'0');
        if digit > 9 {
            return None;
        }
        nanos += u64::from(digit) * worth;
        worth /= 10;
    }
    Some(Nanos(whole.checked_mul(1_000_000_000)?.checked_add(nanos)?))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn malformed_numbers_are_rejected() {
        for text in ["", " 1", "1 ", "+1", "-1", "1.0", "0x1", "18446744073709551616", "٣"] {
            assert_eq!(decimal(text.as_bytes()), None, "{text}");
        }
        for text in ["", "0x", "g", "0x10000000000000000", "-1"] {
            assert_eq!(hexadecimal(text.as_bytes()), None, "{text}");
        }
        for text in ["", ".", "-1.0", "1.0.0", "1e9", "18446744074", "1,5", "inf"] {
            assert_eq!(seconds(text.as_bytes()), None, "{text}");
        }
    }

    #[test]
    fn fractions_of_any_length_are_nanoseconds() {
        assert_eq!(seconds(b"1.5"), Some(Nanos(1_500_000_000)));
        assert_eq!(seconds(b"2"), Some(Nanos(2_000_000_000)));
        assert_eq!(seconds(b".000000001"), Some(Nanos(1)));
        assert_eq!(seconds(b"0.0000000019"), Some(Nanos(1)));
        assert_eq!(seconds(b"1456135200.013118000"), Some(Nanos(1_456_135_200_013_118_000)));
    }

    proptest! {
        #[test]
        fn numbers_round_trip(value: u64) {
            prop_assert_eq!(decimal(value.to_string().as_bytes()), Some(value));
            prop_assert_eq!(hexadecimal(format!("{value:x}").as_bytes()), Some(value));
            prop_assert_eq!(hexadecimal(format!("{value:#X}").replace('X', "x").as_bytes()), Some(value));
            let text = format!("{}.{:09}", value / 1_000_000_000, value % 1_000_000_000);
            prop_assert_eq!(seconds(text.as_bytes()), Some(Nanos(value)));
        }

        #[test]
        fn nothing_panics_and_nothing_wraps(text: Vec<u8>) {
            let standard = std::str::from_utf8(&text).ok().and_then(|text| text.parse().ok());
            if let Some(value) = decimal(&text) {
                prop_assert_eq!(Some(value), standard);
            }
            let _ = (hexadecimal(&text), seconds(&text));
        }
    }
}
