//! Options of a run.

use crate::simulate::Latency;
use crate::synth::Preset;

/// Options of a run.
#[derive(Debug, Clone, Copy)]
pub struct Options {
    /// How many phones of each kind, each from another seed.
    pub seeds: u64,
    /// The first seed; each further phone has the next one.
    pub seed: u64,
    /// Times of launches and page-ins.
    pub latency: Latency,
    /// The phone with nine apps.
    pub nine: Preset,
    /// The phone with 25 apps.
    pub many: Preset,
}
