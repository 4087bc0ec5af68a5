//! Turns the events of a trace into a load for the simulation.

use unjank_host::{Bytes, Error, Nanos, Result};
use unjank_measure::Monitor;

use crate::trace::{Event, Events, Names, PAGE};
use crate::workload::{Builder, Launching, Observed, Refused};
use unjank_cachesim::admission::WriteRate;
use unjank_cachesim::paged::Paged;
use unjank_cachesim::workload::Workload;

/// Events per batch.
const BATCH: usize = 1 << 16;

/// The load of a simulation.
#[derive(Debug, Clone)]
pub enum Load {
    /// Accesses of programs, which need a model of memory.
    Programs(Workload),
    /// Requests of a real memory, or of the storage below it.
    Paging(Paged),
}

impl Load {
    /// The assumption about pages of unknown backing; `None` if there are none.
    pub fn assumption(&self) -> Option<String> {
        let Self::Programs(workload) = self else { return None };
        let pages = u64::from(workload.pages.footprint());
        (workload.unknown > 0).then(|| {
            format!(
                "{} of {pages} pages have no known backing and count as file pages: the first read \
                 of each comes from storage, and it is written back only if it was changed",
                workload.unknown
            )
        })
    }

    /// Checks whether writes of the tier can be limited to this rate. Returns a warning if the
    /// trace is shorter than the rate's period.
    ///
    /// # Errors
    /// No time passes in the trace.
    pub fn hold_to(&self, rate: WriteRate) -> Result<Option<String>> {
        let times = match self {
            Self::Programs(workload) => &workload.times,
            Self::Paging(paged) => &paged.times,
        };
        let lasts = times.span();
        if lasts == Nanos::ZERO {
            return Err(Error::Invalid(
                "a write budget needs times; this trace has none: its format has no times, or it is too short"
                    .to_owned(),
            ));
        }
        Ok((lasts < rate.period).then(|| {
            let all = Bytes(u64::from(rate.pages) * PAGE);
            format!(
                "the trace lasts {lasts}, less than the period of the budget {rate}: up to {all} \
                 may be written at once at its beginning"
            )
        }))
    }
}

/// The meaning of reads and writes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Meaning {
    /// Reads and writes are accesses of programs.
    Programs,
    /// Reads and writes are page-ins and page-outs of memory.
    Paging,
}

/// Reads all events; `None` if the user interrupted it.
///
/// # Errors
/// Errors of the trace; paging events where accesses of programs are expected; no page events.
pub fn load(
    trace: &mut impl Events,
    meaning: Meaning,
    launching: Launching,
    monitor: &dyn Monitor,
) -> Result<Option<Load>> {
    let load = match meaning {
        Meaning::Programs => {
            let mut builder = Builder::new(launching);
            read(trace, monitor, |events, names| builder.extend(events, names))?
                .then(|| Load::Programs(builder.finish(trace.names())))
        }
        Meaning::Paging => {
            let mut observed = Observed::new(launching);
            read(trace, monitor, |events, names| observed.extend(events, names))?
                .then(|| Load::Paging(observed.finish(trace.names())))
        }
    };
    match load {
        Some(Load::Programs(workload)) if workload.accesses.is_empty() => Err(empty()),
        Some(Load::Paging(paged)) if paged.stream.is_empty() => Err(empty()),
        load => Ok(load),
    }
}

/// Reads all events. Returns false after an interrupt.
fn read(
    trace: &mut impl Events,
    monitor: &dyn Monitor,
    mut take: impl FnMut(&[Event], &Names) -> std::result::Result<(), Refused>,
) -> Result<bool> {
    let mut events = Vec::new();
    loop {
        let more = trace.read(&mut events, BATCH)?;
        take(&events, trace.names()).map_err(|refused| Error::Invalid(refused.to_string()))?;
        events.clear();
        monitor.progress(0.1 * trace.progress().unwrap_or(0.0), "reading");
        if monitor.stop_requested() {
            return Ok(false);
        }
        if !more {
            return Ok(true);
        }
    }
}

fn empty() -> Error {
    Error::Invalid("the trace has no page events".to_owned())
}
