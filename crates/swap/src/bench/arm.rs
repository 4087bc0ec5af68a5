//! What is compared.

use std::fmt;
use std::str::FromStr;

use unjank_cachesim::tier::TierPolicy;
use unjank_host::Bytes;

/// A way to run out of memory.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Arm {
    /// Swap on storage.
    Swap,
    /// No swap: the app that was launched longest ago is killed, as by Android's low memory killer.
    NoSwap,
    /// zram that takes this much of the memory, over swap on storage.
    Zram(Bytes),
    /// The tier of `unjank swap tier`, with this much memory as its fast backing, and its policy.
    Tier(Bytes, TierPolicy),
    /// zram that takes this much of the memory, with `unjank swap tierd` and its policy.
    Tierd(Bytes, TierPolicy),
}

/// The smallest part of the memory for a fast swap.
const SMALLEST: Bytes = Bytes::from_mib(1);
/// The default policy of a tier.
const USUAL: TierPolicy = TierPolicy::PAPER;

impl Arm {
    /// The fast part.
    pub fn fast(self) -> Bytes {
        match self {
            Self::Swap | Self::NoSwap => Bytes(0),
            Self::Zram(size) | Self::Tier(size, _) | Self::Tierd(size, _) => size,
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
            Self::Tier(size, policy) => write!(f, "tier:{}{}", mib(*size), suffix(*policy)),
            Self::Tierd(size, policy) => write!(f, "tierd:{}{}", mib(*size), suffix(*policy)),
        }
    }
}

/// `:refault`; nothing for the usual policy.
fn suffix(policy: TierPolicy) -> String {
    if policy == USUAL { String::new() } else { format!(":{policy}") }
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
                "{typed:?} is not swap, no-swap, zram:SIZE, tier:SIZE[:POLICY] or \
                 tierd:SIZE[:POLICY], such as tier:64MiB:refault"
            )
        };
        let mut parts = typed.splitn(3, ':');
        let name = parts.next().unwrap_or_default();
        let size = parts.next().map(|size| bytes(size).ok_or_else(wrong)).transpose()?;
        let policy = parts.next().map(|policy| {
            let unknown = |error| format!("{typed:?}: {error}");
            policy.parse::<TierPolicy>().map_err(unknown)
        });
        let policy = policy.transpose()?;
        let arm = match (name, size, policy) {
            ("swap", None, None) => Self::Swap,
            ("no-swap", None, None) => Self::NoSwap,
            ("zram", Some(size), None) => Self::Zram(size),
            ("tier", Some(size), policy) => Self::Tier(size, policy.unwrap_or(USUAL)),
            ("tierd", Some(size), policy) => Self::Tierd(size, policy.unwrap_or(USUAL)),
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
        for typed in [
            "swap",
            "no-swap",
            "zram:64MiB",
            "tier:1536KiB",
            "tier:2MiB:refault",
            "tierd:1024MiB",
            "tierd:8MiB:none",
        ] {
            assert_eq!(typed.parse::<Arm>().unwrap().to_string(), typed);
        }
        let tier = Arm::Tier(Bytes::from_mib(1024), TierPolicy::PAPER);
        assert_eq!("tier:1GiB".parse(), Ok(tier));
        assert_eq!("tier:1GiB:paper".parse(), Ok(tier));
        for wrong in ["", "swap:1MiB", "tier", "tier:", "tier:x", "zram:1KiB", "tier:64", "x:1MiB"]
        {
            assert!(wrong.parse::<Arm>().is_err(), "{wrong}");
        }
        for wrong in ["tier:2MiB:nonsense", "zram:2MiB:paper", "tier:refault", "tier:2MiB:"] {
            assert!(wrong.parse::<Arm>().is_err(), "{wrong}");
        }
    }
}
