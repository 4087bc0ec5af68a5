//! Bahn & Kim's figures on synthetic phones: swap on and off, with 1 GiB and
//! 2 GiB, and the tier that they propose.
//!
//! Hyokyung Bahn, Jisun Kim: Analysis and Management Policies for Memory
//! Thrashing of Swap-Enabled Smartphones. JIIBC 23-2-8, 2023.
//!
//! | module | subject |
//! |---|---|
//! | `phones` | the same phone with and without swap, for one seed |
//! | [`item`] | one value of the paper, and ours over several seeds |
//! | `items` | all of them |
//! | `note` | the same as findings |

pub mod item;
mod items;
mod note;
mod phones;
mod tables;

pub use item::{Answer, Item};
pub use note::findings;
use note::is_share;

use rayon::prelude::*;
use unjank_host::{Bytes, Result};
use unjank_measure::{Curve, Fact, Monitor};

use crate::simulate::Latency;
use crate::synth::Preset;
use phones::Phone;

/// The tiers of Fig. 5.
pub const TIERS: [Bytes; 7] = [
    Bytes::from_mib(16),
    Bytes::from_mib(32),
    Bytes::from_mib(64),
    Bytes::from_mib(128),
    Bytes::from_mib(256),
    Bytes::from_mib(512),
    Bytes::from_mib(1024),
];

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

/// Runs all phones. What was run until Ctrl-C is the outcome.
///
/// # Errors
/// A size that is too large.
pub fn run(options: &Options, monitor: &dyn Monitor) -> Result<Outcome> {
    let done = std::sync::atomic::AtomicU64::new(0);
    let seeds: Vec<u64> = (0..options.seeds).map(|more| options.seed.wrapping_add(more)).collect();
    let sets: Result<Vec<Option<phones::Set>>> = seeds
        .par_iter()
        .map(|seed| {
            if monitor.stop_requested() {
                return Ok(None);
            }
            let set = phones::Set::run(options, *seed)?;
            let so_far = 1 + done.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
            monitor.progress(so_far as f64 / options.seeds as f64, "phones");
            Ok(Some(set))
        })
        .collect();
    let sets: Vec<phones::Set> = sets?.into_iter().flatten().collect();
    if sets.is_empty() {
        return Ok(Outcome::default());
    }
    Ok(Outcome { items: items::all(&sets), bars: note::bars(&sets), curves: note::curves(&sets) })
}

/// How much more storage I/O a phone has with swap.
fn ratio(phone: &Phone) -> f64 {
    phone.on.traffic.storage_ios() as f64 / phone.off.traffic.storage_ios().max(1) as f64
}
