//! Simulates many policies on many sizes of memory and tier and several traces, on all cores.
//!
//! Memory is simulated once for each size of memory; each policy and size of the tier is then a
//! cell of its own. Finished cells are written to a file at once, so that an interrupted sweep can
//! continue.
//!
//! | module | subject |
//! |---|---|
//! | [`cell`] | one combination and its result |
//! | `compare` | the best of comparable cells |
//! | `checkpoint` | the checkpoint: finished cells in a file |
//! | `table` | all cells as Parquet |
//! | `note`, `tables` | cells as findings |

pub mod cell;
mod checkpoint;
mod compare;
mod note;
mod table;
mod tables;

pub use cell::{Cell, Combination};
pub use checkpoint::{Checkpoint, Identity};
pub use compare::{cheapest, pareto_front, policies};
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

/// The maximum number of cells of a trace.
const MAX: usize = 1_000_000;

/// The simulations for each trace.
#[derive(Debug, Clone)]
pub struct Options {
    /// Sizes of memory; empty to replay the traces through the tier unchanged.
    pub memories: Vec<MemoryOptions>,
    /// Sizes of the tier.
    pub tiers: Vec<Bytes>,
    /// Policies of the tier.
    pub policies: Vec<TierPolicy>,
    /// The maximum rate of writes of the tier under each policy; `None` for no limit.
    pub write_budget: Option<WriteRate>,
    /// Times of launches and page-ins.
    pub latency: Latency,
}

impl Options {
    /// How many cells each trace has.
    ///
    /// # Errors
    /// More than a million cells, or none.
    pub fn cells(&self) -> Result<usize> {
        let memories = self.memories.len().max(1);
        let count = memories.checked_mul(self.tiers.len());
        match count.and_then(|count| count.checked_mul(self.policies.len())) {
            Some(0) => Err(Error::Invalid("there is nothing to simulate".to_owned())),
            Some(count) if count <= MAX => Ok(count),
            _ => Err(Error::Invalid(format!("more than {MAX} combinations; give fewer values"))),
        }
    }
}

/// Simulates all cells of one trace that `checkpoint` lacks, and adds them to it. Returns false if
/// an interrupt ended it between two cells.
///
/// # Errors
/// A size that is zero or too large, or a cell cannot be written.
pub fn run(
    trace: &str,
    load: &Load,
    options: &Options,
    checkpoint: &Mutex<Checkpoint>,
    monitor: &dyn Monitor,
) -> Result<bool> {
    let mut memories: Vec<_> = options.memories.iter().copied().map(Some).collect();
    if memories.is_empty() {
        memories.push(None);
    }
    let (done, all) = (AtomicUsize::new(0), options.cells()?);
    for memory in memories {
        let combinations = missing(trace, memory, options, checkpoint);
        let there = options.tiers.len() * options.policies.len() - combinations.len();
        done.fetch_add(there, Ordering::Relaxed);
        if combinations.is_empty() {
            continue;
        }
        if monitor.stop_requested() {
            return Ok(false);
        }
        let paged = page(load, memory)?;
        combinations.par_iter().try_for_each(|combination| {
            if monitor.stop_requested() {
                return Ok(());
            }
            let cell = try_out(combination, &paged, options)?;
            lock(checkpoint).keep(cell)?;
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
    checkpoint: &Mutex<Checkpoint>,
) -> Vec<Combination> {
    let checkpoint = lock(checkpoint);
    let mut combinations = Vec::new();
    // The largest tiers first: they take longest.
    for tier in options.tiers.iter().rev() {
        for policy in &options.policies {
            let combination = Combination {
                trace: trace.to_owned(),
                memory: memory.map_or(0, |memory| memory.size.get()),
                tier: tier.get(),
                policy: policy.to_string(),
            };
            if !checkpoint.has(&combination) {
                combinations.push(combination);
            }
        }
    }
    combinations
}

fn try_out(combination: &Combination, paged: &Paged, options: &Options) -> Result<Cell> {
    let invalid = |error: &dyn std::fmt::Display| Error::Invalid(error.to_string());
    let policy: TierPolicy = combination.policy.parse().map_err(|error| invalid(&error))?;
    let capacity = pages(Bytes(combination.tier));
    let replayed = policy
        .replay_within(paged, capacity, false, options.write_budget)
        .map_err(|error| invalid(&error))?;
    Ok(Cell::new(combination.clone(), paged, &replayed, options.latency))
}

fn lock(checkpoint: &Mutex<Checkpoint>) -> std::sync::MutexGuard<'_, Checkpoint> {
    // A thread that panicked has added whole cells or none.
    checkpoint.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
}
