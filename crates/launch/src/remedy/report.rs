//! What the service tells: notes as things happen, and its state when asked.

use std::collections::BTreeMap;

use hdrhistogram::Histogram;
use serde::{Deserialize, Serialize};
use unjank_host::Nanos;

use super::engine::Over;
use super::plan::Move;
use super::rules::Reason;

/// Something that happened, for the log.
#[derive(Debug)]
pub enum Note {
    /// The boost of a launch is over.
    Over(Boosted),
    /// So many boosts were over of which nothing was said: they came too fast.
    NotTold(u64),
    /// A knob is not changed any more.
    Lost {
        /// Which one.
        knob: String,
        /// Why.
        reason: String,
    },
    /// Events came faster than they were read; so often, so far.
    Overrun(u64),
    /// The state, as it was asked for.
    Status(Box<Status>),
    /// The service cannot go on.
    Failed(unjank_host::Error),
}

/// A launch that was boosted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Boosted {
    /// How it ended.
    pub over: Over,
    /// How the clock was raised for it; `None` where it was up already.
    pub raised: Option<Raised>,
    /// What is left of the budget.
    pub budget_left: Nanos,
}

/// How the clock was raised.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Raised {
    /// From the beginning of the program, by the kernel's clock, until all
    /// knobs were written.
    pub after: Nanos,
    /// How many they were.
    pub knobs: usize,
}

/// The state of the service.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Status {
    /// `unjank.boost/1`.
    pub schema: String,
    /// The service's process.
    pub process: u32,
    /// How long it has been running.
    pub up: Nanos,
    /// Whether boosts are paused.
    pub paused: bool,
    /// What a boost changes.
    pub moves: Vec<Move>,
    /// Where launches are seen: `exec`, `top-app`, `logcat`.
    pub sources: Vec<String>,
    /// How long the boost of this moment has lasted, if there is one.
    pub boosted_for: Option<Nanos>,
    /// The launches that are boosted now, by their processes.
    pub launches: BTreeMap<u32, String>,
    /// What is left of the budget.
    pub budget_left: Nanos,
    /// Programs whose launches have a known length.
    pub learned: usize,
    /// Counts since the service began.
    pub counts: Counts,
    /// From a program's beginning until its knobs were written.
    pub latency: Latency,
    /// CPU time of the service.
    pub cpu_time: Nanos,
    /// Memory of the service that is not shared with anything, and what of
    /// its files is in memory, in bytes.
    pub resident: u64,
}

/// Counts since the service began.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Counts {
    /// Programs that began to run.
    pub execs: u64,
    /// Launches among them.
    pub launches: u64,
    /// What was no launch, or not boosted, by reason.
    pub not: BTreeMap<Reason, u64>,
    /// Boosts: times that knobs were raised.
    pub boosts: u64,
    /// Boosted time.
    pub boosted: Nanos,
    /// Times that events were lost.
    pub overruns: u64,
    /// Knobs that were given up.
    pub knobs_lost: u64,
}

/// Quantiles of a latency.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Latency {
    /// How often it was measured.
    pub n: u64,
    /// Its median.
    pub p50: Nanos,
    /// What 99 % are below.
    pub p99: Nanos,
    /// The longest.
    pub max: Nanos,
}

impl Latency {
    /// Of nanoseconds.
    pub(super) fn of(histogram: &Histogram<u64>) -> Self {
        let quantile = |q| Nanos(histogram.value_at_quantile(q));
        Self {
            n: histogram.len(),
            p50: quantile(0.5),
            p99: quantile(0.99),
            max: Nanos(histogram.max()),
        }
    }
}
