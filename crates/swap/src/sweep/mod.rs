//! Many policies on many sizes of memory and tier and several traces, on all
//! cores.
//!
//! What memory asks of the tier is worked out once for each size of memory;
//! then every tier is a cell of its own. A cell that is done is in a file at
//! once, so that a sweep that was ended goes on where it stood.
//!
//! | module | subject |
//! |---|---|
//! | [`cell`] | one combination, and what came of it |
//! | `compare` | which of the cells that can be compared are best |
//! | `kept` | cells that are done, in a file |
//! | `table` | all of them as Parquet |
//! | `note`, `tables` | the same as findings |

pub mod cell;
mod compare;
mod kept;
mod note;
mod table;
mod tables;

pub use cell::{Cell, Place};
pub use compare::{cheapest, front, policies};
pub use kept::Kept;
pub use note::findings;
pub use table::write;

use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use rayon::prelude::*;
use unjank_host::{Bytes, Error, Result};
use unjank_measure::Monitor;

use crate::simulate::{Latency, Load, MemoryOptions, page, pages};
use unjank_cachesim::admission::WriteRate;
use unjank_cachesim::paged::Paged;
use unjank_cachesim::tier::TierPolicy;

/// More cells than anybody waits for.
const MAX: usize = 1_000_000;

/// What is tried on each trace.
#[derive(Debug, Clone)]
pub struct Options {
    /// Sizes of memory; none to put the traces to the tier as they are.
    pub memories: Vec<MemoryOptions>,
    /// Sizes of the tier.
    pub tiers: Vec<Bytes>,
    /// Policies of the tier.
    pub policies: Vec<TierPolicy>,
    /// Writes of the tier at most, under each policy; `None` for any number.
    pub write_budget: Option<WriteRate>,
    /// How long page-ins take.
    pub latency: Latency,
}

impl Options {
    /// How many cells each trace has.
    ///
    /// # Errors
    /// More than a million, or none.
    pub fn cells(&self) -> Result<usize> {
        let memories = self.memories.len().max(1);
        let count = memories.checked_mul(self.tiers.len());
        match count.and_then(|count| count.checked_mul(self.policies.len())) {
            Some(0) => Err(Error::Invalid("there is nothing to try".to_owned())),
            Some(count) if count <= MAX => Ok(count),
            _ => Err(Error::Invalid(format!("more than {MAX} combinations; take fewer values"))),
        }
    }
}

/// Tries everything on one trace that `kept` does not have yet, and keeps what
/// comes of it. Whether all of it was tried: Ctrl-C ends it between two cells.
///
/// # Errors
/// A size that is zero or too large, or a cell could not be kept.
pub fn run(
    trace: &str,
    load: &Load,
    options: &Options,
    kept: &Mutex<Kept>,
    monitor: &dyn Monitor,
) -> Result<bool> {
    let mut memories: Vec<_> = options.memories.iter().copied().map(Some).collect();
    if memories.is_empty() {
        memories.push(None);
    }
    let (done, all) = (AtomicUsize::new(0), options.cells()?);
    for memory in memories {
        let places = missing(trace, memory, options, kept);
        let there = options.tiers.len() * options.policies.len() - places.len();
        done.fetch_add(there, Ordering::Relaxed);
        if places.is_empty() {
            continue;
        }
        if monitor.stop_requested() {
            return Ok(false);
        }
        let paged = page(load, memory)?;
        places.par_iter().try_for_each(|place| {
            if monitor.stop_requested() {
                return Ok(());
            }
            let cell = try_out(place, &paged, options)?;
            lock(kept).keep(cell)?;
            let so_far = done.fetch_add(1, Ordering::Relaxed) + 1;
            monitor.progress(so_far as f64 / all as f64, &format!("{so_far} of {all} cells"));
            Ok::<(), Error>(())
        })?;
    }
    Ok(done.into_inner() == all)
}

fn missing(
    trace: &str,
    memory: Option<MemoryOptions>,
    options: &Options,
    kept: &Mutex<Kept>,
) -> Vec<Place> {
    let kept = lock(kept);
    let mut places = Vec::new();
    // The largest tiers first: they take longest.
    for tier in options.tiers.iter().rev() {
        for policy in &options.policies {
            let place = Place {
                trace: trace.to_owned(),
                memory: memory.map_or(0, |memory| memory.size.get()),
                tier: tier.get(),
                policy: policy.to_string(),
            };
            if !kept.has(&place) {
                places.push(place);
            }
        }
    }
    places
}

fn try_out(place: &Place, paged: &Paged, options: &Options) -> Result<Cell> {
    let invalid = |error: &dyn std::fmt::Display| Error::Invalid(error.to_string());
    let policy: TierPolicy = place.policy.parse().map_err(|error| invalid(&error))?;
    let capacity = pages(Bytes(place.tier));
    let replayed = policy
        .replay_within(paged, capacity, false, options.write_budget)
        .map_err(|error| invalid(&error))?;
    Ok(Cell::new(place.clone(), paged, &replayed, options.latency))
}

fn lock(kept: &Mutex<Kept>) -> std::sync::MutexGuard<'_, Kept> {
    // A thread that panicked has kept whole cells, or none.
    kept.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
}
