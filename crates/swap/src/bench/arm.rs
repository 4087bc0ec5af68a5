//! What is compared.

use std::fmt;
use std::str::FromStr;

use unjank_host::Bytes;

/// A way to run out of memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Arm {
    /// Swap on storage.
    Swap,
    /// No swap: the app that was launched longest ago is killed, as by Android's low memory killer.
    NoSwap,
    /// zram that takes this much of the memory, over swap on storage.
    Zram(Bytes),
    /// The tier of `unjank swap tier`, with this much of the memory as its fast backing.
    Tier(Bytes),
    /// zram that takes this much of the memory, with `unjank swap tierd`.
    Tierd(Bytes),
}

/// The smallest part of the memory for a fast swap.
const SMALLEST: Bytes = Bytes::from_mib(1);

impl Arm {
    /// The fast part.
    pub fn fast(self) -> Bytes {
        match self {
            Self::Swap | Self::NoSwap => Bytes(0),
            Self::Zram(size) | Self::Tier(size) | Self::Tierd(size) => size,
        }
    }

    /// Whether there is swap.
    pub fn swaps(self) -> bool {
        self != Self::NoSwap
    }
}

impl fmt::Display for Arm {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Swap => f.write_str("swap"),
            Self::NoSwap => f.write_str("no-swap"),
            Self::Zram(size) => write!(f, "zram:{}", mib(*size)),
            Self::Tier(size) => write!(f, "tier:{}", mib(*size)),
            Self::Tierd(size) => write!(f, "tierd:{}", mib(*size)),
        }
    }
}

/// `64MiB`, or KiB if it is no whole number of MiB.
fn mib(size: Bytes) -> String {
    let kib = size.get() >> 10;
    if kib.is_multiple_of(1024) { format!("{}MiB", kib / 1024) } else { format!("{kib}KiB") }
}

impl FromStr for Arm {
    type Err = String;

    fn from_str(typed: &str) -> Result<Self, String> {
        let wrong = || {
            format!(
                "{typed:?} is not swap, no-swap, or zram, tier or tierd with a size: tier:64MiB"
            )
        };
        let (name, size) = match typed.split_once(':') {
            None => (typed, None),
            Some((name, size)) => (name, Some(bytes(size).ok_or_else(wrong)?)),
        };
        let arm = match (name, size) {
            ("swap", None) => Self::Swap,
            ("no-swap", None) => Self::NoSwap,
            ("zram", Some(size)) => Self::Zram(size),
            ("tier", Some(size)) => Self::Tier(size),
            ("tierd", Some(size)) => Self::Tierd(size),
            _ => return Err(wrong()),
        };
        if arm != Self::Swap && arm != Self::NoSwap && arm.fast() < SMALLEST {
            return Err(format!("{typed:?}: at least {SMALLEST}"));
        }
        Ok(arm)
    }
}

/// `64MiB`, `512KiB` or `1GiB`.
fn bytes(typed: &str) -> Option<Bytes> {
    let units = [("KiB", 10), ("MiB", 20), ("GiB", 30)];
    units.iter().find_map(|(unit, shift)| {
        let number: u64 = typed.strip_suffix(unit)?.trim().parse().ok()?;
        number.checked_mul(1 << shift).map(Bytes)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arms_are_written_as_they_are_typed() {
        for typed in ["swap", "no-swap", "zram:64MiB", "tier:1536KiB", "tierd:1024MiB"] {
            assert_eq!(typed.parse::<Arm>().unwrap().to_string(), typed);
        }
        assert_eq!("tier:1GiB".parse(), Ok(Arm::Tier(Bytes::from_mib(1024))));
        for wrong in ["", "swap:1MiB", "tier", "tier:", "tier:x", "zram:1KiB", "tier:64", "x:1MiB"]
        {
            assert!(wrong.parse::<Arm>().is_err(), "{wrong}");
        }
    }
}
