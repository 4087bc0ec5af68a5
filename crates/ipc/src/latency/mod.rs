//! `unjank ipc latency`: pairs of processes that call each other at real-time
//! and at ordinary priority.
//!
//! | module | subject |
//! |---|---|
//! | `options` | options, and their limits |
//! | `pairs` | the process that starts the pairs |
//! | `caller` | the client process of a pair, which starts its server |
//! | `report` | messages from the client process |
//! | `threads` | policies, priorities and CPUs of a pair's threads |
//! | `tracing` | the scheduler trace |
//! | [`schd_dbg`] | the figures of AOSP's tool |
//! | `findings` | from reports to findings |

mod caller;
mod findings;
mod options;
mod pairs;
mod report;
pub mod schd_dbg;
mod threads;
mod tracing;

use unjank_host::process::HelperCommand;
use unjank_host::sched::{CpuSet, rtprio_limit};
use unjank_host::tracefs::Trace;
use unjank_host::{Result, Root, Support, Timestamp, process};
use unjank_measure::{Findings, Monitor};

pub use caller::call;
pub use options::{CallPolicy, Caller, Options};
pub use report::{Leg, Message, Miss, Order, PairReport, Task};

pub(crate) use report::PriorityCheck;

use crate::explain::{Circumstances, InheritanceVerdict, break_down, judge_inheritance};
use crate::transport::{Manager, Transport};
use tracing::Tracing;

/// What was measured over one transport.
#[derive(Debug)]
pub struct Measured {
    /// The transport that all pairs used.
    pub transport: Transport,
    /// What each pair measured, or why it failed.
    pub pairs: Vec<Result<PairReport, String>>,
    /// Whether servers inherit the priority of their clients.
    pub inheritance: InheritanceVerdict,
    /// Where the time of the call that missed its deadline under trace went, or
    /// why that is not known; one sentence without a full stop.
    pub cause: Option<String>,
    /// Why the trace of that call was not kept, if it was not.
    pub trace_lost: Option<String>,
}

/// The measurements of all transports.
#[derive(Debug, Default)]
pub struct Measurements {
    /// The measurements of each transport that could be measured.
    pub by_transport: Vec<Measured>,
    /// Warnings, and transports that are not supported here.
    pub notes: Findings,
}

/// Measures each transport in turn.
///
/// # Errors
/// `Invalid` options; a process could not be started.
pub fn run(
    options: &Options,
    client: &HelperCommand,
    peer: &HelperCommand,
    root: &Root,
    monitor: &dyn Monitor,
) -> Result<Measurements> {
    options.check()?;
    let mut measurements = Measurements::default();
    let cpus = CpuSet::allowed()?.len();
    if options.pairs > cpus {
        measurements.notes.warn(format!(
            "{} pairs on {cpus} CPU{}: the machine is overloaded, and these figures do not \
             describe it",
            options.pairs,
            if cpus == 1 { "" } else { "s" },
        ));
    }
    for (index, &transport) in options.transports.iter().enumerate() {
        if let Support::No(reason) = transport.support()? {
            measurements.notes.not_supported(format!("ipc/{transport}"), reason);
            continue;
        }
        if monitor.stop_requested() {
            measurements.notes.warn("interrupted before every transport was measured");
            break;
        }
        // Kept for as long as the pairs need it.
        let manager = || Manager::find_or_start(transport, peer);
        let manager = transport.is_binder().then(manager).transpose()?;
        if manager.as_ref().is_some_and(Manager::is_foreign) {
            let reason = "the device already has a context manager, with which unjank cannot \
                          register a server";
            measurements.notes.not_supported(format!("ipc/{transport}"), reason);
            continue;
        }
        let part = Part { of: options.transports.len(), index, transport, monitor };
        let measured = measure(options, transport, client, root, &part, &mut measurements.notes)?;
        let missed = measured.missed().is_some();
        measurements.by_transport.push(measured);
        if missed {
            break;
        }
    }
    Ok(measurements)
}

fn measure(
    options: &Options,
    transport: Transport,
    client: &HelperCommand,
    root: &Root,
    monitor: &dyn Monitor,
    notes: &mut Findings,
) -> Result<Measured> {
    let tracing = match &options.trace {
        Some(_) => notes.require("--trace", Tracing::start(root)?),
        None => None,
    };
    let task = Task {
        transport,
        iterations: options.iterations,
        deadline: options.deadline.get(),
        callers: options.callers.clone(),
        priority: options.priority,
        force: options.force,
        inherit_rt: options.inherit_rt,
        raw: options.raw,
        tripwire: tracing.as_ref().and_then(Tracing::tripwire),
    };
    let pairs = pairs::run(&vec![task; options.pairs], client, monitor)?;
    let reports = || pairs.iter().flatten();
    let circumstances = Circumstances {
        transport,
        inherit_rt: options.inherit_rt,
        privileged: process::is_privileged_to_schedule(root),
        rtprio_limit: rtprio_limit(),
        no_fifo: reports().find_map(|report| report.no_fifo.clone()),
    };
    let checks: Vec<PriorityCheck> =
        reports().flat_map(|report| report.checks.iter().copied()).collect();
    let inheritance = judge_inheritance(&checks, &circumstances);
    let mut measured = Measured { transport, pairs, inheritance, cause: None, trace_lost: None };
    if let Some(tracing) = tracing {
        let miss = measured.missed().map(|(_, miss)| *miss);
        let keep = options.trace.as_deref().filter(|_| miss.is_some());
        let (trace, lost) = tracing.finish(keep)?;
        measured.trace_lost = lost.map(|error| error.to_string());
        measured.cause = miss.map(|miss| where_it_went(&trace, &miss));
    }
    Ok(measured)
}

fn where_it_went(trace: &Trace, miss: &Miss) -> String {
    let Some(server) = miss.server else {
        return "cannot tell: the server's thread is not known".to_owned();
    };
    let began = Timestamp::from_nanos(miss.began);
    match break_down(trace, miss.client, server, began, miss.took) {
        Support::Yes(breakdown) => breakdown.to_string(),
        Support::No(reason) => format!("cannot tell: {reason}"),
    }
}

impl Measurements {
    /// Whether a pair measured nothing or ended before it was done, or a trace
    /// was not kept.
    pub fn has_failures(&self) -> bool {
        self.by_transport.iter().any(Measured::has_failures)
    }
}

impl Measured {
    pub(crate) fn failed_pairs(&self) -> usize {
        let failed = |pair: &&Result<PairReport, String>| match pair {
            Ok(report) => report.failure.is_some(),
            Err(_) => true,
        };
        self.pairs.iter().filter(failed).count()
    }

    /// Whether a pair measured nothing or ended before it was done, or the
    /// trace was not kept.
    pub fn has_failures(&self) -> bool {
        self.failed_pairs() > 0 || self.trace_lost.is_some()
    }

    /// The number of a pair and its call that missed the deadline under trace:
    /// the first one to end, because it stopped the trace.
    pub fn missed(&self) -> Option<(usize, &Miss)> {
        let misses = self.pairs.iter().enumerate().filter_map(|(number, pair)| {
            pair.as_ref().ok()?.miss.as_ref().map(|miss| (number, miss))
        });
        misses.min_by_key(|(_, miss)| miss.began.saturating_add(miss.took.get()))
    }
}

/// Reports the progress of one transport as a part of the whole.
struct Part<'a> {
    of: usize,
    index: usize,
    transport: Transport,
    monitor: &'a dyn Monitor,
}

impl Monitor for Part<'_> {
    fn progress(&self, fraction: f64, _doing: &str) {
        let done = (self.index as f64 + fraction) / self.of as f64;
        self.monitor.progress(done, &format!("calls over {}", self.transport));
    }

    fn stop_requested(&self) -> bool {
        self.monitor.stop_requested()
    }
}
