//! What a client process tells the process that started it.

use serde::{Deserialize, Serialize};
use unjank_host::Nanos;
use unjank_host::sched::{Priority, ThreadId};
use unjank_host::tracefs::TripwirePaths;
use unjank_measure::SeriesRecord;

use super::options::{CallPolicy, Caller};
use crate::transport::{Examined, Transport};

/// What a client process is to do: one pair's half of a run.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Task {
    /// The process that started it, and without which it ends.
    pub parent: u32,
    pub(super) transport: Transport,
    pub(super) iterations: u64,
    pub(super) deadline: u64,
    pub(super) callers: Vec<Caller>,
    pub(super) priority: Priority,
    pub(super) force: bool,
    pub(super) inherit_rt: bool,
    pub(super) raw: bool,
    pub(super) tripwire: Option<TripwirePaths>,
}

/// One line from a client process.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Message {
    /// It is connected and has warmed up.
    Ready,
    /// So much of its calls (0–1) is done.
    Progress(f64),
    /// It is done.
    Done(Box<PairReport>),
    /// It could not begin.
    Failed(String),
}

/// What one client process has measured.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct PairReport {
    /// The client process.
    pub client: u32,
    /// The server process, if it is one that was started for this pair.
    pub server: Option<u32>,
    /// One for each caller and policy.
    pub legs: Vec<Leg>,
    /// Calls that were made to see how the server runs.
    pub(crate) looks: Vec<Look>,
    /// Why there is no `SCHED_FIFO` leg.
    pub no_fifo: Option<String>,
    /// The call that ended the run, if one missed its deadline under trace.
    pub miss: Option<Miss>,
    /// Why the calls ended before their number was reached: the server died,
    /// or did not answer.
    pub failure: Option<String>,
}

/// The calls of one kind of caller at one policy.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Leg {
    /// At which policy they were made.
    pub policy: CallPolicy,
    /// By which kind of thread.
    pub caller: Caller,
    /// The round trips.
    pub series: SeriesRecord,
    /// The sum of all round trips.
    pub total: u64,
    /// Calls that took longer than the deadline.
    pub late: u64,
    /// Calls during which the client was on one CPU before and after, and the
    /// server served it there.
    pub same_cpu: u64,
    /// Calls after which the client was on another CPU than before.
    pub moved: u64,
    /// Every round trip in nanoseconds, in order, if that was asked for.
    pub raw: Vec<u64>,
}

/// A call that was made to see how the server runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Look {
    /// How the client called.
    pub(crate) caller: Examined,
    /// Whether it had taken another nice value than its own for this call.
    pub(crate) at_nice: bool,
    /// Where the client was.
    pub(crate) caller_cpu: u32,
    /// How the server served it.
    pub(crate) server: Examined,
    /// Where it did.
    pub(crate) server_cpu: u32,
}

/// A call that missed its deadline.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Miss {
    /// At which policy it was made.
    pub policy: CallPolicy,
    /// By which kind of thread.
    pub caller: Caller,
    /// Which call of its leg it was, from 0.
    pub call: u64,
    /// The thread that called.
    pub client: ThreadId,
    /// The thread that served it, as far as that is known.
    pub server: Option<ThreadId>,
    /// When the call began, in nanoseconds since boot.
    pub began: u64,
    /// The same since the first call of the run.
    pub into_the_run: Nanos,
    /// How long it took.
    pub took: Nanos,
}
