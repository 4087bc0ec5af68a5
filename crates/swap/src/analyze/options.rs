//! What is looked for.

use super::{launches, thrash};
use crate::trace::Operation;

/// Operations that are accesses, unless others are asked for: all that need the page.
pub const ACCESSES: [Operation; 5] = [
    Operation::Read,
    Operation::Write,
    Operation::PageIn,
    Operation::PageOut,
    Operation::FirstTouch,
];

/// What is looked for.
#[derive(Debug, Clone)]
pub struct Options {
    /// Operations that are accesses, of skew and reuse.
    pub only: Vec<Operation>,
    /// The share of the data that is called hot, 0–1.
    pub hot: f64,
    /// From where on it is thrashing.
    pub thrash: thrash::Limits,
    /// When the I/O of a launch is over.
    pub launch: launches::Limits,
    /// Whether launches of all programs are told, where the trace is of a recorded command.
    pub all_launches: bool,
    /// Swap devices, as the trace names them, and their priorities.
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
