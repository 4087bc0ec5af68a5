//! A trace on a model: memory over a tier over storage, under several policies
//! of the tier, beside no tier and no swap at all.
//!
//! | module | subject |
//! |---|---|
//! | [`load`](mod@load) | from the events of a trace to what is simulated |
//! | [`latency`] | from page-ins to launch times |
//! | [`line`](mod@line) | what came of one policy |
//! | `note`, `tables` | the same as findings |

pub mod latency;
pub mod line;
pub mod load;
mod note;
mod tables;

pub use crate::workload::Launching;
pub use latency::Latency;
pub use line::{Launched, Line};
pub use load::{Load, load};
pub use note::findings;

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

/// What the trace is run on.
#[derive(Debug, Clone)]
pub struct Options {
    /// Memory; `None` to put the trace to the tier as it is.
    pub memory: Option<MemoryOptions>,
    /// The size of the tier.
    pub tier: Bytes,
    /// Its policies, one line each.
    pub policies: Vec<TierPolicy>,
    /// Writes of the tier at most, under each policy; `None` for any number.
    pub write_budget: Option<WriteRate>,
    /// Whether there is swap.
    pub swap: Swap,
    /// How long page-ins take.
    pub latency: Latency,
    /// What a write of the tier costs, in accesses to storage; `None` to leave
    /// out costs, and what knowledge of the future could reach.
    pub write_cost: Option<f64>,
}

/// What came of it.
#[derive(Debug, Clone, Default)]
pub struct Outcome {
    /// Without swap, without a tier, then policy by policy.
    pub lines: Vec<Line>,
    /// What knowledge of the future could reach.
    pub bound: Option<Bound>,
}

impl Outcome {
    /// The line with swap that costs least, with the writes that are still to come,
    /// and what it costs.
    pub fn cheapest(&self, costs: Costs) -> Option<(&Line, f64)> {
        let with_swap = self.lines.iter().filter(|line| line.policy.is_some());
        let priced = with_swap.map(|line| (line, costs.settled(&line.traffic)));
        priced.min_by(|(_, one), (_, other)| one.total_cmp(other))
    }
}

/// What knowledge of the future could reach, from both sides.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Bound {
    /// What reads and writes cost.
    pub costs: Costs,
    /// No policy costs less. Not all of it need be within reach.
    pub least: f64,
    /// The traffic of a schedule that knows the future.
    pub reached: Traffic,
}

impl Bound {
    /// How much more some traffic costs than the bound, as a share of it.
    pub fn above(&self, traffic: &Traffic) -> Option<f64> {
        (self.least > 0.0).then(|| self.costs.of(traffic) / self.least - 1.0)
    }
}

/// Memory over the tier.
#[derive(Debug, Clone, Copy)]
pub struct MemoryOptions {
    /// Its size, of what programs can have.
    pub size: Bytes,
    /// Which pages it evicts.
    pub policy: MemoryPolicy,
    /// Which pages come along with one.
    pub readahead: Readahead,
    /// What each app that is alive pins: graphics.
    pub pinned: Bytes,
    /// Without swap: how much of files stays in memory at least.
    pub minfree: Bytes,
}

/// Whether there is swap.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Swap {
    /// Both, beside each other.
    Both,
    /// There is.
    On,
    /// There is none: apps are killed.
    Off,
}

/// Runs the trace on all that was asked for.
///
/// # Errors
/// A size that is zero or too large, or no memory for what needs one.
pub fn run(load: &Load, options: &Options, monitor: &dyn Monitor) -> Result<Outcome> {
    let mut lines = Vec::new();
    if options.swap != Swap::On
        && let Some(line) = without_swap(load, options)?
    {
        lines.push(line);
    }
    if options.swap == Swap::Off || monitor.stop_requested() {
        return Ok(Outcome { lines, bound: None });
    }
    monitor.progress(0.1, "memory");
    let paged = page(load, options.memory)?;
    monitor.progress(0.3, "the tier");
    let none = std::iter::once(TierPolicy::NONE);
    let asked = options.policies.iter().copied().filter(|policy| *policy != TierPolicy::NONE);
    let policies: Vec<TierPolicy> = none.chain(asked).collect();
    let capacity = pages(options.tier);
    let replay = |policy: &TierPolicy| {
        let replayed =
            policy.replay_within(&paged, capacity, true, options.write_budget).map_err(invalid)?;
        Ok(Line::of_tier(*policy, &paged, &replayed, options.latency))
    };
    let replayed: Result<Vec<Line>> = policies.par_iter().map(replay).collect();
    lines.extend(replayed?);
    if monitor.stop_requested() {
        return Ok(Outcome { lines, bound: None });
    }
    monitor.progress(0.6, "the future");
    let bound = options.write_cost.map(|cost| bound(&paged, capacity, Costs::new(cost)));
    Ok(Outcome { lines, bound: bound.transpose()? })
}

/// What is written past the tier comes on top of both ends.
fn bound(paged: &Paged, capacity: u64, costs: Costs) -> Result<Bound> {
    let space = Space::new(capacity, paged.footprint.into()).map_err(invalid)?;
    let found = clairvoyant(&paged.stream, space, costs)
        .map_err(|error| Error::Invalid(error.to_string()))?;
    let past = paged.written.len() as u64;
    let mut reached = found.reached;
    reached.storage_writes += past;
    Ok(Bound { costs, least: found.least + past as f64, reached })
}

/// What memory asks of the tier.
///
/// # Errors
/// A size that is zero or too large; or no memory for a trace of programs that
/// is one, and memory for one that is none.
pub fn page(load: &Load, memory: Option<MemoryOptions>) -> Result<std::borrow::Cow<'_, Paged>> {
    use std::borrow::Cow;
    match (load, memory) {
        (Load::Paging(paged), _) => Ok(Cow::Borrowed(paged)),
        (Load::Programs(_), None) => Err(Error::Invalid(
            "the trace tells what programs did, so it needs memory to run in".to_owned(),
        )),
        (Load::Programs(workload), Some(memory)) => {
            let space = space(memory.size, workload.pages.footprint())?;
            let pinned = u32::try_from(pages(memory.pinned)).unwrap_or(u32::MAX);
            Ok(Cow::Owned(memory.policy.page(workload, space, memory.readahead, pinned)))
        }
    }
}

/// Apps are killed; `None` if the trace has none, or tells what a real memory
/// did.
fn without_swap(load: &Load, options: &Options) -> Result<Option<Line>> {
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
    Ok(Some(Line::without_swap(workload, &killing, options.latency)))
}

fn space(memory: Bytes, footprint: u32) -> Result<Space> {
    Space::new(pages(memory), footprint.into()).map_err(invalid)
}

/// Whole pages.
pub fn pages(size: Bytes) -> u64 {
    size.get() / PAGE
}

fn invalid(error: SpaceError) -> Error {
    Error::Invalid(error.to_string())
}
