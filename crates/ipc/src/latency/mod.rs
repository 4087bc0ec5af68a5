//! `unjank ipc latency`: pairs of processes that call each other at real-time
//! and at ordinary priority.
//!
//! Calls are divided into several starts, each with new processes. The starts of all
//! transports alternate.
//!
//! | module | subject |
//! |---|---|
//! | `options` | options, and their limits |
//! | `pairs` | the pairs of one start |
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

use std::path::Path;

use unjank_host::process::HelperCommand;
use unjank_host::sched::{CpuSet, rtprio_limit};
use unjank_host::tracefs::Trace;
use unjank_host::{Result, Root, Support, Timestamp, process};
use unjank_measure::monitor::Part;
use unjank_measure::{Findings, Monitor};

pub use caller::call;
pub use options::{CallPolicy, Caller, Options};
pub use report::{Leg, Message, Miss, Order, PairReport, Task};

pub(crate) use report::PriorityCheck;

use crate::explain::{Circumstances, InheritanceVerdict, break_down, judge_inheritance};
use crate::starts;
use crate::transport::{Manager, Transport};
use tracing::Tracing;

/// What was measured over one transport.
#[derive(Debug)]
pub struct Measured {
    /// The transport that all pairs used.
    pub transport: Transport,
    /// Its independent starts, in order. After one with a failed pair, or with a missed
    /// deadline under trace, there is no further one.
    pub starts: Vec<MeasuredStart>,
    /// Whether servers inherit the priority of their clients.
    pub inheritance: InheritanceVerdict,
    /// Where the time of the call that missed its deadline under trace went, or
    /// why that is not known; one sentence without a full stop.
    pub cause: Option<String>,
    /// Why the trace of that call was not kept, if it was not.
    pub trace_lost: Option<String>,
}

/// What one start measured over one transport, with new processes.
#[derive(Debug)]
pub struct MeasuredStart {
    /// Its beginning.
    pub at: Timestamp,
    /// What each pair measured, or why it failed.
    pub pairs: Vec<Result<PairReport, String>>,
}

/// The measurements of all transports.
#[derive(Debug, Default)]
pub struct Measurements {
    /// The measurements of each transport that could be measured.
    pub by_transport: Vec<Measured>,
    /// Warnings, and transports that are not supported here.
    pub notes: Findings,
}

/// Checks of the server's priority at each policy, before the calls that count and
/// again after them, in all starts together.
const CHECKS: usize = 8;

/// Measures all transports.
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
    let iterations = starts::divide(options.iterations, options.starts)?;
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
    let mut all = Vec::new();
    for &transport in &options.transports {
        match transport.support()? {
            Support::Yes(()) => all.push(Underway::new(transport)),
            Support::No(reason) => {
                measurements.notes.not_supported(format!("ipc/{transport}"), reason);
            }
        }
    }
    let mut bench = Bench { options, client, peer, root, trace: options.trace.as_deref() };
    'starts: for (number, &iterations) in iterations.iter().enumerate() {
        let of = all.len();
        for place in 0..of {
            // Another order in each start.
            let underway = &mut all[(place + number) % of];
            if monitor.stop_requested() {
                break 'starts;
            }
            if underway.is_over {
                continue;
            }
            let before = (number as f64 + place as f64 / of as f64) / options.starts as f64;
            let share = 1.0 / (options.starts * of) as f64;
            let name = format!("calls over {}", underway.transport);
            let part = Part::new(monitor, &name, before, share);
            bench.start(underway, iterations, &part, &mut measurements.notes)?;
            if underway.miss().is_some() {
                break 'starts;
            }
        }
    }
    let missed = all.iter().any(|underway| underway.miss().is_some());
    if !missed && all.iter().any(|underway| underway.starts.is_empty() && !underway.is_over) {
        measurements.notes.warn("interrupted before every transport was measured");
    }
    let begun = all.into_iter().filter(|underway| !underway.starts.is_empty());
    measurements.by_transport = begun.map(|underway| underway.finish(options, root)).collect();
    Ok(measurements)
}

/// A transport that is being measured.
struct Underway {
    transport: Transport,
    starts: Vec<MeasuredStart>,
    /// It cannot be measured here, or not any more.
    is_over: bool,
    cause: Option<String>,
    trace_lost: Option<String>,
}

impl Underway {
    fn new(transport: Transport) -> Self {
        Self { transport, starts: Vec::new(), is_over: false, cause: None, trace_lost: None }
    }

    fn miss(&self) -> Option<&Miss> {
        self.starts.last()?.missed().map(|(_, miss)| miss)
    }

    fn finish(self, options: &Options, root: &Root) -> Measured {
        let Self { transport, starts, cause, trace_lost, .. } = self;
        let reports = || starts.iter().flat_map(MeasuredStart::reports);
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
        Measured { transport, starts, inheritance, cause, trace_lost }
    }
}

struct Bench<'a> {
    options: &'a Options,
    client: &'a HelperCommand,
    peer: &'a HelperCommand,
    root: &'a Root,
    /// Where a trace is kept; `None` also if this machine cannot trace.
    trace: Option<&'a Path>,
}

impl Bench<'_> {
    /// One start of a transport: new processes for all pairs.
    fn start(
        &mut self,
        underway: &mut Underway,
        iterations: u64,
        monitor: &dyn Monitor,
        notes: &mut Findings,
    ) -> Result<()> {
        let Self { options, client, peer, root, .. } = *self;
        let transport = underway.transport;
        // Kept for as long as the pairs need it.
        let manager = || Manager::find_or_start(transport, peer);
        let manager = transport.is_binder().then(manager).transpose()?;
        if manager.as_ref().is_some_and(Manager::is_foreign) {
            let reason = "the device already has a context manager, with which unjank cannot \
                          register a server";
            notes.not_supported(format!("ipc/{transport}"), reason);
            underway.is_over = true;
            return Ok(());
        }
        let tracing = match self.trace {
            Some(_) => notes.require("--trace", Tracing::start(root)?),
            None => None,
        };
        self.trace = self.trace.filter(|_| tracing.is_some());
        let task = Task {
            transport,
            iterations,
            checks: CHECKS.div_ceil(options.starts),
            deadline: options.deadline.get(),
            callers: options.callers.clone(),
            priority: options.priority,
            force: options.force,
            inherit_rt: options.inherit_rt,
            raw: options.raw,
            tripwire: tracing.as_ref().and_then(Tracing::tripwire),
        };
        let at = Timestamp::now();
        let pairs = pairs::run(&vec![task; options.pairs], client, monitor)?;
        let start = MeasuredStart { at, pairs };
        if let Some(tracing) = tracing {
            let miss = start.missed().map(|(_, miss)| *miss);
            let (trace, lost) = tracing.finish(self.trace.filter(|_| miss.is_some()))?;
            underway.trace_lost = lost.map(|error| error.to_string());
            underway.cause = miss.map(|miss| where_it_went(&trace, &miss));
        }
        underway.is_over = start.failed_pairs() > 0;
        underway.starts.push(start);
        Ok(())
    }
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
    /// Pairs that failed, over all starts.
    pub(crate) fn failed_pairs(&self) -> usize {
        self.starts.iter().map(MeasuredStart::failed_pairs).sum()
    }

    /// Whether a pair measured nothing or ended before it was done, or the
    /// trace was not kept.
    pub fn has_failures(&self) -> bool {
        self.failed_pairs() > 0 || self.trace_lost.is_some()
    }

    /// The number of a pair and its call that missed the deadline under trace, which
    /// ended the last start.
    pub fn missed(&self) -> Option<(usize, &Miss)> {
        self.starts.last()?.missed()
    }
}

impl MeasuredStart {
    fn reports(&self) -> impl Iterator<Item = &PairReport> {
        self.pairs.iter().flatten()
    }

    fn failed_pairs(&self) -> usize {
        let failed = |pair: &&Result<PairReport, String>| match pair {
            Ok(report) => report.failure.is_some(),
            Err(_) => true,
        };
        self.pairs.iter().filter(failed).count()
    }

    /// The first call to end of those that missed the deadline under trace, because it
    /// stopped the trace.
    fn missed(&self) -> Option<(usize, &Miss)> {
        let misses = self.pairs.iter().enumerate().filter_map(|(number, pair)| {
            pair.as_ref().ok()?.miss.as_ref().map(|miss| (number, miss))
        });
        misses.min_by_key(|(_, miss)| miss.began.saturating_add(miss.took.get()))
    }
}
