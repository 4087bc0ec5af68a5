//! From the events of a trace to what is simulated.

use unjank_host::{Bytes, Error, Nanos, Result};
use unjank_measure::Monitor;

use crate::trace::{Event, Events, Names, PAGE};
use crate::workload::{Builder, Launching, Observed, Refused};
use unjank_cachesim::admission::WriteRate;
use unjank_cachesim::paged::Paged;
use unjank_cachesim::workload::Workload;

/// Events that are read at once.
const BATCH: usize = 1 << 16;

/// What is simulated.
#[derive(Debug, Clone)]
pub enum Load {
    /// What programs did: it needs memory to run in.
    Programs(Workload),
    /// What a real memory did, or the storage below it.
    Paging(Paged),
}

impl Load {
    /// What is assumed of pages of which the trace does not tell whether a file
    /// stands behind them; `None` if it tells of all.
    pub fn assumption(&self) -> Option<String> {
        let Self::Programs(workload) = self else { return None };
        let pages = u64::from(workload.pages.footprint());
        (workload.unknown > 0).then(|| {
            format!(
                "{} of {pages} pages have no known backing; they are taken for pages of files: \
                 the first read of each comes from storage, and it is written back only if it \
                 was changed",
                workload.unknown
            )
        })
    }

    /// What to know before writes of the tier are held to this rate, if anything.
    ///
    /// # Errors
    /// No time passes in the trace: nothing can be held to a rate.
    pub fn hold_to(&self, rate: WriteRate) -> Result<Option<String>> {
        let times = match self {
            Self::Programs(workload) => &workload.times,
            Self::Paging(paged) => &paged.times,
        };
        let lasts = times.span();
        if lasts == Nanos::ZERO {
            return Err(Error::Invalid(
                "a write budget needs times, and in this trace no time passes: its format tells \
                 none, or it is too short"
                    .to_owned(),
            ));
        }
        Ok((lasts < rate.period).then(|| {
            let all = Bytes(u64::from(rate.pages) * PAGE);
            format!(
                "the trace lasts {lasts}, less than the time of the budget {rate}: as much as \
                 {all} may be written at once, at its beginning"
            )
        }))
    }
}

/// How events are understood.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Meaning {
    /// Reads and writes are what programs did.
    Programs,
    /// Reads and writes are what memory did: page-ins and page-outs.
    Paging,
}

/// Reads all events; `None` if the user has ended it.
///
/// # Errors
/// Those of the trace; or it tells what memory did where programs are meant.
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

/// Whether all was read.
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
    Error::Invalid("the trace has no events of pages".to_owned())
}
