//! What came of all phones.

use unjank_measure::{Curve, Fact};

use super::item::Item;

/// What came of all phones.
#[derive(Debug, Clone, Default)]
pub struct Outcome {
    /// Each value of the paper and ours.
    pub items: Vec<Item>,
    /// Fig. 1 as parts of bars.
    pub bars: Vec<Fact>,
    /// Fig. 2 and Fig. 5 as curves.
    pub curves: Vec<Curve>,
}
