//! Options of a comparison.

/// Options of a comparison.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Options {
    /// The smallest difference that matters, as a share; 0 for no threshold.
    pub min_effect: f64,
    /// The seed of the bootstrap.
    pub seed: u64,
}

impl Default for Options {
    fn default() -> Self {
        Self { min_effect: 0.02, seed: 1 }
    }
}
