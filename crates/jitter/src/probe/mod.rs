//! `unjank jitter native`: absolute-time periodic wake-ups on chosen CPUs.

mod options;
mod report;
mod setup;
mod stage;
mod threads;
mod tracing;
mod wakeup;
mod worst;

pub use options::{Moments, Options, Scheduling};
pub(crate) use report::{PERIOD, PERIOD_LABEL};

use unjank_host::pm_qos::CpuLatency;
use unjank_host::tracefs::Trace;
use unjank_host::{Error, Result, Root, Support};
use unjank_measure::{Change, Findings, Monitor};

use stage::Stage;
use threads::Measured;
use tracing::Tracing;

/// Measures each scheduling of the options in turn, with all threads at once. A
/// scheduling that is not permitted is noted as unsupported, and the others are
/// still measured. A wake-up later than `break_above` ends the whole run.
///
/// Series: `jitter/native/<other|fifo|rr|deadline>/wakeup` over all threads.
/// If there are several, also one for each, with the label `cpu` if each has its
/// own CPU, else `thread`. Missed periods are those that passed before a late
/// thread ran.
///
/// # Errors
/// `Invalid` options; a system call that failed for another reason than a
/// missing privilege.
pub fn run(options: &Options, root: &Root, monitor: &dyn Monitor) -> Result<Findings> {
    options.check()?;
    let mut findings = Findings::default();
    let _request = keep_awake(options, root, &mut findings)?;
    for (index, &scheduling) in options.schedulings.iter().enumerate() {
        if monitor.stop_requested() {
            break;
        }
        let stage = Stage { monitor, index, of: options.schedulings.len() };
        let tracing = start_tracing(options, root, &mut findings);
        match threads::measure(options, scheduling, root, tracing.as_ref(), &stage) {
            Ok(measured) => {
                let trace = finish_tracing(tracing, &measured, options, &mut findings);
                let broke = measured.broke();
                report::note(measured, trace.as_ref(), options, scheduling, &mut findings);
                if broke {
                    break;
                }
            }
            Err(Error::Permission { what, needs }) => {
                findings.not_supported(scheduling.series_name(), format!("{what} needs {needs}"));
            }
            Err(Error::Unsupported(reason)) => {
                findings.not_supported(scheduling.series_name(), reason);
            }
            Err(error) => return Err(error),
        }
    }
    Ok(findings)
}

/// Keeps CPUs out of deep idle states during the run, if the options say so.
fn keep_awake(
    options: &Options,
    root: &Root,
    findings: &mut Findings,
) -> Result<Option<CpuLatency>> {
    let Some(latency) = options.dma_latency else { return Ok(None) };
    let request = CpuLatency::at_most(root, latency)?;
    findings.changes.push(Change {
        knob: "/dev/cpu_dma_latency".to_owned(),
        before: "no request of unjank".to_owned(),
        during: format!("at most {latency}"),
        after: Some("no request of unjank".to_owned()),
    });
    Ok(Some(request))
}

/// Starts a trace if the options ask for one. A run without it is still valid.
fn start_tracing(options: &Options, root: &Root, findings: &mut Findings) -> Option<Tracing> {
    const WHAT: &str = "jitter/native cause";
    if !options.cause && options.break_above.is_none() {
        return None;
    }
    let known = |findings: &Findings| findings.unsupported.iter().any(|u| u.what == WHAT);
    match Tracing::start(options, root) {
        Ok(Support::Yes(tracing)) => Some(tracing),
        Ok(Support::No(_)) if known(findings) => None,
        Ok(Support::No(reason)) => {
            findings.not_supported(WHAT, reason);
            None
        }
        Err(error) => {
            findings.warn(format!("nothing was traced: {error}"));
            None
        }
    }
}

fn finish_tracing(
    tracing: Option<Tracing>,
    measured: &Measured,
    options: &Options,
    findings: &mut Findings,
) -> Option<Trace> {
    let keep = options.trace_file.as_deref().filter(|_| measured.broke());
    match tracing?.finish(keep) {
        Ok(trace) => {
            if let Some(path) = keep {
                findings.warn(format!("the trace is in {}", path.display()));
            }
            Some(trace)
        }
        Err(error) => {
            findings.warn(format!("the trace is lost: {error}"));
            None
        }
    }
}
