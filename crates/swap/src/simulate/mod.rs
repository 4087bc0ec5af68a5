//! Replays a trace through a model of memory over a tier over storage, under several policies of
//! the tier, with no tier and with no swap.
//!
//! | module | subject |
//! |---|---|
//! | [`load`](mod@load) | turns the events of a trace into a load for the simulation |
//! | [`latency`] | from page-ins to launch times |
//! | [`policy_result`](mod@policy_result) | the result of one policy |
//! | `note`, `tables` | results as findings |

pub mod latency;
pub mod load;
mod note;
pub mod policy_result;
mod tables;

pub use crate::workload::Launching;
pub use latency::Latency;
pub use load::{Load, load};
pub use note::findings;
pub use policy_result::{Launched, PolicyResult};

use rayon::prelude::*;
use unjank_host::{Bytes, Error, Result};
use unjank_measure::Monitor;

use crate::trace::PAGE;
use unjank_cachesim::admission::WriteRate;
use unjank_cachesim::bounds::{Costs, clairvoyant};
use unjank_cachesim::killing::{Killing, Rules};
use unjank_cachesim::memory::{MemoryPolicy, Readahead};
use unjank_cachesim::page::{Space, SpaceError};
use unjank_cachesim::paged::Paged;
use unjank_cachesim::tier::{TierPolicy, Traffic};

/// The simulated machine and the policies.
#[derive(Debug, Clone)]
pub struct Options {
    /// Memory; `None` to replay the trace through the tier unchanged.
    pub memory: Option<MemoryOptions>,
    /// The size of the tier.
    pub tier: Bytes,
    /// Policies of the tier.
    pub policies: Vec<TierPolicy>,
    /// The maximum rate of writes of the tier under each policy; `None` for no limit.
    pub write_budget: Option<WriteRate>,
    /// Whether there is swap.
    pub swap: Swap,
    /// Times of launches and page-ins.
    pub latency: Latency,
    /// The cost of a write of the tier, in accesses to storage; `None` to leave out costs and the
    /// offline optimum.
    pub write_cost: Option<f64>,
}

/// The results of a simulation.
#[derive(Debug, Clone, Default)]
pub struct Simulated {
    /// No swap, no tier, then one result per policy.
    pub results: Vec<PolicyResult>,
    /// The offline optimum; `None` without `write_cost` or swap, or after a stop.
    pub bound: Option<Bound>,
}

impl Simulated {
    /// The cheapest result with swap, and its cost including the writes that are still to come.
    pub fn cheapest(&self, costs: Costs) -> Option<(&PolicyResult, f64)> {
        let with_swap = self.results.iter().filter(|result| result.policy.is_some());
        let priced = with_swap.map(|result| (result, costs.of(&result.traffic)));
        priced.min_by(|(_, one), (_, other)| one.total_cmp(other))
    }
}

/// The offline optimum, bracketed from both sides.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Bound {
    /// The costs of reads and writes.
    pub costs: Costs,
    /// No policy costs less. The optimum may be above it.
    pub lower_bound: f64,
    /// The traffic of an offline schedule.
    pub schedule: Traffic,
}

impl Bound {
    /// How much more some traffic costs than the lower bound, as a share of it. Both include the
    /// writes that are still to come.
    pub fn above(&self, traffic: &Traffic) -> Option<f64> {
        (self.lower_bound > 0.0).then(|| self.costs.of(traffic) / self.lower_bound - 1.0)
    }
}

/// Memory over the tier.
#[derive(Debug, Clone, Copy)]
pub struct MemoryOptions {
    /// The memory that programs can have.
    pub size: Bytes,
    /// The replacement policy of memory.
    pub policy: MemoryPolicy,
    /// Readahead of neighbours at a page-in.
    pub readahead: Readahead,
    /// Memory that each living app pins: graphics.
    pub pinned: Bytes,
    /// Without swap: apps are killed if less than this is left for files.
    pub minfree: Bytes,
}

/// Whether there is swap.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Swap {
    /// Simulate both.
    Both,
    /// With swap.
    On,
    /// Without swap: apps are killed.
    Off,
}

/// Runs the simulation.
///
/// # Errors
/// A size that is zero or too large; no memory for a load of programs.
pub fn run(load: &Load, options: &Options, monitor: &dyn Monitor) -> Result<Simulated> {
    let mut results = Vec::new();
    if options.swap != Swap::On
        && let Some(result) = without_swap(load, options)?
    {
        results.push(result);
    }
    if options.swap == Swap::Off || monitor.stop_requested() {
        return Ok(Simulated { results, bound: None });
    }
    monitor.progress(0.1, "simulating memory");
    let paged = page(load, options.memory)?;
    monitor.progress(0.3, "simulating the tier");
    let none = std::iter::once(TierPolicy::NONE);
    let asked = options.policies.iter().copied().filter(|policy| *policy != TierPolicy::NONE);
    let policies: Vec<TierPolicy> = none.chain(asked).collect();
    let capacity = pages(options.tier);
    let replay = |policy: &TierPolicy| {
        let replayed =
            policy.replay_within(&paged, capacity, true, options.write_budget).map_err(invalid)?;
        Ok(PolicyResult::of_tier(*policy, &paged, &replayed, options.latency))
    };
    let replayed: Result<Vec<PolicyResult>> = policies.par_iter().map(replay).collect();
    results.extend(replayed?);
    if monitor.stop_requested() {
        return Ok(Simulated { results, bound: None });
    }
    monitor.progress(0.6, "computing the offline optimum");
    let bound = options.write_cost.map(|cost| bound(&paged, capacity, Costs::new(cost)));
    Ok(Simulated { results, bound: bound.transpose()? })
}

/// The offline optimum. Writes that bypass the tier add to both sides.
fn bound(paged: &Paged, capacity: u64, costs: Costs) -> Result<Bound> {
    let space = Space::new(capacity, paged.footprint.into()).map_err(invalid)?;
    let found = clairvoyant(&paged.stream, space, costs)
        .map_err(|error| Error::Invalid(error.to_string()))?;
    let past = paged.written.len() as u64;
    let mut schedule = found.schedule;
    schedule.storage_writes += past;
    Ok(Bound { costs, lower_bound: found.lower_bound + past as f64, schedule })
}

/// The requests of memory to the levels below it.
///
/// # Errors
/// A size that is zero or too large; no memory for a load of programs.
pub fn page(load: &Load, memory: Option<MemoryOptions>) -> Result<std::borrow::Cow<'_, Paged>> {
    use std::borrow::Cow;
    match (load, memory) {
        (Load::Paging(paged), _) => Ok(Cow::Borrowed(paged)),
        (Load::Programs(_), None) => {
            Err(Error::Invalid("a trace of programs needs a size of memory".to_owned()))
        }
        (Load::Programs(workload), Some(memory)) => {
            let space = space(memory.size, workload.pages.footprint())?;
            let pinned = u32::try_from(pages(memory.pinned)).unwrap_or(u32::MAX);
            Ok(Cow::Owned(memory.policy.page(workload, space, memory.readahead, pinned)))
        }
    }
}

/// Simulates memory without swap; `None` without launches of apps or without memory.
fn without_swap(load: &Load, options: &Options) -> Result<Option<PolicyResult>> {
    let (Load::Programs(workload), Some(memory)) = (load, options.memory) else {
        return Ok(None);
    };
    if workload.launches.is_empty() {
        return Ok(None);
    }
    let least = |bytes| u32::try_from(pages(bytes)).unwrap_or(u32::MAX);
    let rules = Rules { minfree: least(memory.minfree), pinned: least(memory.pinned) };
    let space = space(memory.size, workload.pages.footprint())?;
    let killing = Killing::run(workload, space, rules);
    Ok(Some(PolicyResult::without_swap(workload, &killing, options.latency)))
}

fn space(memory: Bytes, footprint: u32) -> Result<Space> {
    Space::new(pages(memory), footprint.into()).map_err(invalid)
}

/// A size in whole pages, rounded down.
pub fn pages(size: Bytes) -> u64 {
    size.get() / PAGE
}

fn invalid(error: SpaceError) -> Error {
    Error::Invalid(error.to_string())
}
