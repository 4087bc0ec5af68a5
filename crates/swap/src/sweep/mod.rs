//! Simulates many policies on many sizes of memory and tier and several traces, on all cores.
//!
//! Memory is simulated once for each size of memory; each policy and size of the tier is then a
//! cell of its own. Finished cells are written to a file at once, so that an interrupted sweep can
//! continue.
//!
//! | module | subject |
//! |---|---|
//! | [`unit`](mod@unit) | units of work, and the keys that name them |
//! | [`cell`] | one combination and its result |
//! | `compare` | the best of comparable cells |
//! | `checkpoint` | finished cells in a file |
//! | `finished` | finished cells, of this process or of several |
//! | `table` | all cells as Parquet |
//! | `note`, `tables`, `means` | cells as findings |

pub mod cell;
mod checkpoint;
mod compare;
mod finished;
mod means;
mod note;

mod table;
mod tables;
pub mod unit;

pub use cell::{Cell, Combination};
pub use checkpoint::Checkpoint;
pub use compare::{cheapest, pareto_front, policies};
pub use finished::{Claim, Finished};
pub use note::findings;
pub use table::write;
pub use unit::{Content, Shard, Unit, UnitKey};

use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use rayon::prelude::*;
use unjank_host::{Bytes, Error, Result};
use unjank_measure::Monitor;

use crate::simulate::{Latency, Load, page, pages};
use crate::workload::Launching;
use unjank_cachesim::admission::WriteRate;
use unjank_cachesim::paged::Paged;
use unjank_cachesim::tier::TierPolicy;

/// The maximum number of cells of a unit.
const MAX: usize = 1_000_000;

/// The simulations for each unit.
#[derive(Debug, Clone)]
pub struct Options {
    /// Sizes of the tier.
    pub tiers: Vec<Bytes>,
    /// Policies of the tier.
    pub policies: Vec<TierPolicy>,
    /// The maximum rate of writes of the tier under each policy; `None` for no limit.
    pub write_budget: Option<WriteRate>,
    /// Launches that count.
    pub launching: Launching,
    /// Times of launches and page-ins.
    pub latency: Latency,
}

impl Options {
    /// How many cells each unit has.
    ///
    /// # Errors
    /// More than a million cells, or none.
    pub fn count(&self) -> Result<usize> {
        match self.tiers.len().checked_mul(self.policies.len()) {
            Some(0) => Err(Error::Invalid("there is nothing to simulate".to_owned())),
            Some(count) if count <= MAX => Ok(count),
            _ => Err(Error::Invalid(format!("more than {MAX} combinations; give fewer values"))),
        }
    }

    /// All sizes of the tier and policies, the largest tiers first: they take longest.
    pub fn places(&self) -> impl Iterator<Item = (u64, String)> {
        let policies = || self.policies.iter().map(ToString::to_string);
        self.tiers.iter().rev().flat_map(move |tier| policies().map(|policy| (tier.get(), policy)))
    }

    /// The sizes and policies that a unit lacks.
    pub fn missing(
        &self,
        unit: UnitKey,
        finished: &Checkpoint,
    ) -> impl Iterator<Item = (u64, String)> {
        self.places().filter(move |(tier, policy)| !finished.has(unit, *tier, policy))
    }

    /// Whether a cell is among those of this sweep.
    pub fn asks_for(&self, cell: &Cell) -> bool {
        let Combination { tier, policy, .. } = &cell.combination;
        self.tiers.contains(&Bytes(*tier))
            && self.policies.iter().any(|one| one.to_string() == *policy)
    }
}

/// Simulates a unit with these sizes of the tier and policies, on all threads of the current pool,
/// and passes each cell on. Returns false if an interrupt ended it between two cells.
///
/// # Errors
/// A size that is zero or too large, or an error of `keep`.
pub fn run(
    unit: &Unit,
    load: &Load,
    places: &[(u64, String)],
    options: &Options,
    keep: impl Fn(Cell) -> Result<()> + Sync,
    monitor: &dyn Monitor,
) -> Result<bool> {
    if places.is_empty() {
        return Ok(true);
    }
    if monitor.stop_requested() {
        return Ok(false);
    }
    let done = AtomicUsize::new(0);
    let paged = page(load, unit.memory)?;
    places.par_iter().try_for_each(|(tier, policy)| {
        if monitor.stop_requested() {
            return Ok(());
        }
        let combination = Combination {
            trace: unit.trace.clone(),
            memory: unit.memory.map_or(0, |memory| memory.size.get()),
            tier: *tier,
            policy: policy.clone(),
        };
        keep(try_out(combination, &paged, options)?)?;
        // For display only: it pairs with nothing.
        let so_far = done.fetch_add(1, Ordering::Relaxed) + 1;
        let share = so_far as f64 / places.len() as f64;
        monitor.progress(share, &format!("{so_far} of {} cells", places.len()));
        Ok::<(), Error>(())
    })?;
    Ok(done.into_inner() == places.len())
}

fn try_out(combination: Combination, paged: &Paged, options: &Options) -> Result<Cell> {
    let invalid = |error: &dyn std::fmt::Display| Error::Invalid(error.to_string());
    let policy: TierPolicy = combination.policy.parse().map_err(|error| invalid(&error))?;
    let capacity = pages(Bytes(combination.tier));
    let replayed = policy
        .replay_within(paged, capacity, false, options.write_budget)
        .map_err(|error| invalid(&error))?;
    Ok(Cell::new(combination, paged, &replayed, options.latency))
}

/// Locks a checkpoint.
pub fn lock(checkpoint: &Mutex<Checkpoint>) -> std::sync::MutexGuard<'_, Checkpoint> {
    // A thread that panicked has added whole cells or none.
    checkpoint.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use unjank_host::Nanos;

    use super::*;
    use crate::synth::presets;

    /// Two sizes and two policies.
    pub(super) fn options() -> Options {
        Options {
            tiers: vec![Bytes(4096), Bytes(8192)],
            policies: ["paper", "always/lru"].map(|policy| policy.parse().unwrap()).to_vec(),
            write_budget: None,
            launching: Launching::lasting(Nanos::from_millis(1_000)),
            latency: Latency::default(),
        }
    }

    pub(super) fn unit(number: u64) -> Unit {
        let content = Content::synthetic(&presets::ALL[0], number);
        Unit::new(&format!("trace {number}"), &content, None, &options())
    }

    #[test]
    fn the_largest_tiers_come_first() {
        let places: Vec<_> = options().places().collect();
        let policies = |tier| [(tier, "paper".to_owned()), (tier, "always/lru".to_owned())];
        assert_eq!(places, [policies(8192), policies(4096)].concat());
        assert_eq!(options().count().unwrap(), 4);
        assert!(Options { tiers: Vec::new(), ..options() }.count().is_err());
    }
}
