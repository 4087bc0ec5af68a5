//! Messages between a client process and the process that started it.

use serde::{Deserialize, Serialize};
use unjank_host::Nanos;
use unjank_host::sched::{Priority, ThreadId};
use unjank_host::tracefs::TripwirePaths;
use unjank_measure::SeriesRecord;

use super::options::{CallPolicy, Caller};
use crate::transport::{ExaminedThread, Transport};

/// The task of a client process: the calls of one pair.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Task {
    pub(super) transport: Transport,
    pub(super) iterations: u64,
    /// Calls at each policy that check the server's priority, before the others and
    /// again after them.
    pub(super) checks: usize,
    pub(super) deadline: u64,
    pub(super) callers: Vec<Caller>,
    pub(super) priority: Priority,
    pub(super) force: bool,
    pub(super) inherit_rt: bool,
    pub(super) raw: bool,
    pub(super) tripwire: Option<TripwirePaths>,
}

/// An order to a client process.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Order {
    /// Connect to a server and warm up.
    Prepare(Box<Task>),
    /// Make the calls that count.
    Begin,
}

/// A message from a client process.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Message {
    /// It is connected and has warmed up.
    Ready,
    /// The share of its calls that is done, 0 to 1.
    Progress(f64),
    /// It is done.
    Done(Box<PairReport>),
    /// It could not begin.
    Failed(String),
}

/// The measurements of one client process.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct PairReport {
    /// Process id of the client.
    pub client: u32,
    /// The server process, if one was started for this pair.
    pub server: Option<u32>,
    /// The main threads of both processes before the first call that counts, with their CPUs.
    #[serde(default)]
    pub(crate) standing: Vec<(Role, ExaminedThread, u32)>,
    /// One for each caller and policy.
    pub legs: Vec<Leg>,
    /// Calls that checked the server's priority.
    pub(crate) checks: Vec<PriorityCheck>,
    /// Why there is no `SCHED_FIFO` leg.
    pub no_fifo: Option<String>,
    /// The call that ended the run, if one missed its deadline under trace.
    pub miss: Option<Miss>,
    /// Why the calls ended before their number was reached: the server died,
    /// or did not answer.
    pub failure: Option<String>,
}

/// A process of a pair.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Role {
    /// The server.
    Service,
    /// The client.
    Client,
}

/// The calls of one kind of caller at one policy.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Leg {
    /// Scheduling policy of the calls.
    pub policy: CallPolicy,
    /// The kind of thread that made them.
    pub caller: Caller,
    /// Distribution of the round trips.
    pub series: SeriesRecord,
    /// The sum of all round trips, in nanoseconds.
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

/// A call that checked the server's priority.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct PriorityCheck {
    /// The client's thread.
    pub(crate) caller: ExaminedThread,
    /// Whether the client had another nice value than its own for this call.
    pub(crate) at_nice: bool,
    /// The client's CPU.
    pub(crate) caller_cpu: u32,
    /// The server's thread.
    pub(crate) server: ExaminedThread,
    /// The server's CPU.
    pub(crate) server_cpu: u32,
}

/// A call that missed its deadline.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Miss {
    /// Scheduling policy of the call.
    pub policy: CallPolicy,
    /// The kind of thread that made it.
    pub caller: Caller,
    /// Number of the call in its leg, from 0.
    pub call: u64,
    /// The thread that called.
    pub client: ThreadId,
    /// The thread that served it, if known.
    pub server: Option<ThreadId>,
    /// Start of the call, in nanoseconds since boot.
    pub began: u64,
    /// Start of the call, since the first call of its process.
    pub into_the_start: Nanos,
    /// Duration of the round trip.
    pub took: Nanos,
}
