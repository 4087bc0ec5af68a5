//! Which way is better.

use serde::{Deserialize, Serialize};

use crate::record::unit::Unit;

/// Which way a quantity gets better.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Direction {
    /// Times, sizes, energy: the smaller the better.
    Smaller,
    /// Rates: the larger the better.
    Larger,
}

impl Unit {
    /// Which way quantities of this unit get better; `None` for counts,
    /// ratios and frequencies, where it depends on what is counted.
    pub fn better(self) -> Option<Direction> {
        match self {
            Self::Nanoseconds
            | Self::Bytes
            | Self::Pages
            | Self::WattHours
            | Self::Joules
            | Self::Watts => Some(Direction::Smaller),
            Self::PerSecond | Self::BytesPerSecond => Some(Direction::Larger),
            Self::Count | Self::Ratio | Self::Times | Self::Change | Self::Hertz => None,
        }
    }
}
