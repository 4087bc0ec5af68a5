//! Options of `ipc latency`, and their limits.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};
use unjank_host::sched::Priority;
use unjank_host::{Error, Nanos, Result};

use crate::starts;
use crate::transport::Transport;

/// Options of `ipc latency`.
#[derive(Debug, Clone)]
pub struct Options {
    /// Transports, measured in alternation.
    pub transports: Vec<Transport>,
    /// Pairs of a client and a server process that call at the same time.
    pub pairs: usize,
    /// Calls of each caller of each pair at each policy.
    pub iterations: u64,
    /// The independent starts of each transport, which share its iterations. Each has
    /// new client and server processes.
    pub starts: usize,
    /// Longest round trip that meets the deadline.
    pub deadline: Nanos,
    /// Kinds of calling threads.
    pub callers: Vec<Caller>,
    /// The priority of the `SCHED_FIFO` calls.
    pub priority: Priority,
    /// Allow priorities above 90, and machines without real-time throttling.
    pub force: bool,
    /// Ask for inheritance of real-time priority where a transport needs that
    /// (binder's `FLAT_BINDER_FLAG_INHERIT_RT`).
    pub inherit_rt: bool,
    /// Trace the scheduler, stop at the first missed deadline, and keep the
    /// trace as text in this file.
    pub trace: Option<PathBuf>,
    /// Keep every single sample as well.
    pub raw: bool,
}

/// The kind of thread that makes a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Caller {
    /// A thread that has called before.
    Warm,
    /// A new thread for each call, which pays for what a transport sets up for
    /// each thread.
    Cold,
}

impl Caller {
    /// The name in series and on the command line.
    pub fn name(self) -> &'static str {
        match self {
            Self::Warm => "warm",
            Self::Cold => "cold",
        }
    }
}

/// The scheduling policy of a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CallPolicy {
    /// `SCHED_FIFO`.
    Fifo,
    /// `SCHED_OTHER`.
    Other,
}

impl CallPolicy {
    /// The name in series.
    pub fn name(self) -> &'static str {
        match self {
            Self::Fifo => "fifo",
            Self::Other => "other",
        }
    }
}

/// More processes than any machine can run at the same time.
const MOST_PAIRS: usize = 1_024;
/// The fewest iterations of a start.
const FEWEST_ITERATIONS: u64 = 100;

impl Options {
    /// The number of starts for `iterations`: ten, or as many as have 100 iterations
    /// each; one for fewer than 400, which cannot show how starts differ.
    pub fn usual_starts(iterations: u64) -> usize {
        starts::number(iterations, FEWEST_ITERATIONS)
    }

    pub(super) fn check(&self) -> Result<()> {
        let wrong = |what: &str| Err(Error::Invalid(what.to_owned()));
        if self.iterations == 0 {
            return wrong("0 iterations: at least one is needed");
        }
        if self.pairs == 0 || self.pairs > MOST_PAIRS {
            return Err(Error::Invalid(format!(
                "{} pairs of processes are out of range (1 to {MOST_PAIRS})",
                self.pairs
            )));
        }
        if self.deadline == Nanos::ZERO {
            return wrong("a deadline of 0: every call would miss it");
        }
        if self.transports.is_empty() || self.callers.is_empty() {
            return wrong("at least one transport and one caller are needed");
        }
        Ok(())
    }
}
