//! What is run.

use crate::simulate::Latency;
use crate::synth::Preset;

/// What is run.
#[derive(Debug, Clone, Copy)]
pub struct Options {
    /// How many phones of each kind, each from another seed.
    pub seeds: u64,
    /// The first seed.
    pub seed: u64,
    /// How long page-ins take.
    pub latency: Latency,
    /// Nine apps.
    pub nine: Preset,
    /// Twenty-five.
    pub many: Preset,
}
