//! Reproduces Bahn & Kim's figures on synthetic phones: swap on and off, with 1 GiB and 2 GiB, and
//! the tier that they propose.
//!
//! Hyokyung Bahn, Jisun Kim: Analysis and Management Policies for Memory
//! Thrashing of Swap-Enabled Smartphones. JIIBC 23-2-8, 2023.
//!
//! | module | subject |
//! |---|---|
//! | `options` | options of a run |
//! | `phones` | the same phone with and without swap, for one seed |
//! | [`item`] | one value of the paper, and the modelled values of several seeds |
//! | `items` | all values |
//! | `reproduction` | the values and curves of all phones |
//! | `claims` | the paper's claims beside the modelled values |
//! | `note` | results as findings |
//! | [`real`] | the figures from runs of `swap bench` |

mod claims;
pub mod item;
mod items;
mod note;
mod options;
mod phones;
pub mod real;
mod reproduction;

pub use item::Item;
pub use note::findings;
pub use options::Options;
pub use phones::TIERS;
pub use reproduction::Reproduction;

use rayon::prelude::*;
use unjank_host::Result;
use unjank_measure::Monitor;

/// Simulates all phones. After an interrupt, the result has the phones that were finished.
///
/// # Errors
/// A size that is too large.
pub fn run(options: &Options, monitor: &dyn Monitor) -> Result<Reproduction> {
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
        return Ok(Reproduction::default());
    }
    Ok(Reproduction {
        items: items::all(&sets),
        bars: note::bars(&sets),
        curves: note::curves(&sets),
    })
}
