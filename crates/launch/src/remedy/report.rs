//! The service's notes for the log, and its state.

use std::collections::BTreeMap;

use hdrhistogram::Histogram;
use serde::{Deserialize, Serialize};
use unjank_host::Nanos;

use super::engine::EndedBoost;
use super::plan::KnobChange;
use super::rules::Rejection;

/// An event for the log.
#[derive(Debug)]
pub enum Note {
    /// The boost of a launch is over.
    Ended(Boosted),
    /// This many ended boosts were not logged: they came too fast.
    NotLogged(u64),
    /// A knob or a source of launches was given up.
    Lost {
        /// Path of the knob, or name of the source.
        knob: String,
        /// Reason, in one sentence.
        reason: String,
    },
    /// Events came faster than they were read; the number of times so far.
    Overrun(u64),
    /// The state of the service, in answer to a request.
    Status(Box<Status>),
    /// The service cannot go on.
    Failed(unjank_host::Error),
}

/// A launch that was boosted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Boosted {
    /// The launch, with length and end of its boost.
    pub over: EndedBoost,
    /// Delay and extent of the boost; `None` if the clock was up already.
    pub raised: Option<Raised>,
    /// Boosted time that the budget still allows.
    pub budget_left: Nanos,
}

/// Delay and extent of a boost.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Raised {
    /// From the start of the program, by the kernel's time stamp, until all knobs
    /// were written.
    pub after: Nanos,
    /// Number of knobs written.
    pub knobs: usize,
}

/// The state of the service.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Status {
    /// Schema of this document: `unjank.boost/1`.
    pub schema: String,
    /// Process id of the service.
    pub process: u32,
    /// Time since the service began.
    pub up: Nanos,
    /// Whether boosts are paused by request.
    pub paused: bool,
    /// Whether nothing is boosted because the power profile is power-saver.
    #[serde(default)]
    pub power_saver: bool,
    /// The knobs that a boost changes.
    pub moves: Vec<KnobChange>,
    /// The sources of launches: `exec`, `top-app`, `logcat`.
    pub sources: Vec<String>,
    /// Length so far of the current boost, if any.
    pub boosted_for: Option<Nanos>,
    /// The launches that are boosted now: programs by process id.
    pub launches: BTreeMap<u32, String>,
    /// Boosted time that the budget still allows.
    pub budget_left: Nanos,
    /// Number of programs whose launches have a learned length.
    pub learned: usize,
    /// Counts since the service began.
    pub counts: Counts,
    /// Latency from a program's beginning until its knobs were written.
    pub latency: Latency,
    /// CPU time of the service.
    pub cpu_time: Nanos,
    /// Private memory of the service, and the resident part of its files, in
    /// bytes.
    pub resident: u64,
}

/// Counts since the service began.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Counts {
    /// Programs that began to run.
    pub execs: u64,
    /// Launches among them.
    pub launches: u64,
    /// Programs that were no launch, or not boosted, by reason.
    pub not: BTreeMap<Rejection, u64>,
    /// Boosts: times that knobs were raised.
    pub boosts: u64,
    /// Sum of the boosted time.
    pub boosted: Nanos,
    /// Times that events were lost.
    pub overruns: u64,
    /// Knobs that were given up.
    pub knobs_lost: u64,
}

/// Quantiles of a latency.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Latency {
    /// Number of measurements.
    pub n: u64,
    /// Its median.
    pub p50: Nanos,
    /// The 99th percentile.
    pub p99: Nanos,
    /// The longest.
    pub max: Nanos,
}

impl Latency {
    /// Quantiles of a histogram of nanoseconds.
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
