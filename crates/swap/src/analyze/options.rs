//! Options of the analysis.

use super::{launches, thrash};
use crate::trace::Operation;

/// The default operations that count as accesses: all that need the page.
pub const ACCESSES: [Operation; 5] = [
    Operation::Read,
    Operation::Write,
    Operation::PageIn,
    Operation::PageOut,
    Operation::FirstTouch,
];

/// Options of the analysis.
#[derive(Debug, Clone)]
pub struct Options {
    /// Operations that count as accesses, for skew and reuse.
    pub only: Vec<Operation>,
    /// The share of the data that is called hot, 0–1.
    pub hot: f64,
    /// The limits of thrashing.
    pub thrash: thrash::Limits,
    /// Limits on the I/O of a launch.
    pub launch: launches::Limits,
    /// In a trace of a recorded command: whether to show launches of all other programs, too.
    pub all_launches: bool,
    /// Swap devices by their names in the trace, with priorities.
    pub priorities: Vec<(String, i32)>,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            only: ACCESSES.to_vec(),
            hot: 0.10,
            thrash: thrash::Limits::default(),
            launch: launches::Limits::default(),
            all_launches: false,
            priorities: Vec::new(),
        }
    }
}
