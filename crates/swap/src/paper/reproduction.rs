//! The results of all phones.

use unjank_measure::{Curve, Fact};

use super::item::Item;

/// The results of all phones.
#[derive(Debug, Clone, Default)]
pub struct Reproduction {
    /// The values of the paper and the modelled values.
    pub items: Vec<Item>,
    /// Fig. 1 as stacked bars.
    pub bars: Vec<Fact>,
    /// Fig. 2 and Fig. 5 as curves.
    pub curves: Vec<Curve>,
}
