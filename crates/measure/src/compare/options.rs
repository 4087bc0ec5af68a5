//! How two runs are compared.

/// How two runs are compared.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Options {
    /// The smallest difference that matters, as a share; 0 if every one does.
    pub min_effect: f64,
    /// The seed of the bootstrap.
    pub seed: u64,
}

impl Default for Options {
    fn default() -> Self {
        Self { min_effect: 0.02, seed: 1 }
    }
}
