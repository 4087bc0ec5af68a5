//! Parameters of policies.

use std::fmt;
use std::ops::RangeInclusive;

use crate::page::Space;

/// A multiple of the capacity, in millionths.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Share(u32);

impl Share {
    /// A share in per cent.
    pub const fn percent(percent: u32) -> Self {
        Self(percent.saturating_mul(10_000))
    }

    /// The share of the capacity in pages, rounded down.
    pub fn of(self, space: Space) -> u32 {
        space.share(self.get())
    }

    /// The share as a number: 0.25 for a quarter.
    pub fn get(self) -> f64 {
        f64::from(self.0) / 1e6
    }
}

impl fmt::Display for Share {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.get())
    }
}

/// A mutable parameter and its range.
pub(super) enum Slot<'a> {
    Share(&'a mut Share, RangeInclusive<f64>),
    Count(&'a mut u8, RangeInclusive<u8>),
}

impl Slot<'_> {
    /// Parses and sets the value. The error is the valid range.
    pub(super) fn set(&mut self, typed: &str) -> Result<(), String> {
        match self {
            Self::Share(share, range) => {
                let wanted = typed.parse::<f64>().ok().filter(|wanted| range.contains(wanted));
                let wanted = wanted.ok_or_else(|| bounds(range))?;
                **share = Share((wanted * 1e6).round() as u32);
            }
            Self::Count(count, range) => {
                let wanted = typed.parse::<u8>().ok().filter(|wanted| range.contains(wanted));
                **count = wanted.ok_or_else(|| bounds(range))?;
            }
        }
        Ok(())
    }

    pub(super) fn value(&self) -> String {
        match self {
            Self::Share(share, _) => share.to_string(),
            Self::Count(count, _) => count.to_string(),
        }
    }
}

fn bounds(range: &RangeInclusive<impl fmt::Display>) -> String {
    format!("{} to {}", range.start(), range.end())
}
