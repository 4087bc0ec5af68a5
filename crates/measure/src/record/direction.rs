//! The direction in which a quantity improves.

use serde::{Deserialize, Serialize};

use crate::record::unit::Unit;

/// The direction in which a quantity improves.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Direction {
    /// Times, sizes, energy: the smaller the better.
    Smaller,
    /// Rates: the larger the better.
    Larger,
}

impl Unit {
    /// The direction in which quantities of this unit improve; `None` for
    /// counts, ratios and frequencies, where it depends on the quantity.
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
