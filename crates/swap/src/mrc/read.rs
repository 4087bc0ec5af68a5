//! A trace as requests for pages.

use unjank_host::{Error, Result};
use unjank_measure::Monitor;

use crate::trace::{Numbering, Operation, Summary, Trace};
use unjank_cachesim::mrc::{Sample, Sampler};
use unjank_cachesim::page::SpaceError;

/// How requests are read.
#[derive(Debug, Clone)]
pub struct Options {
    /// Operations that are requests.
    pub only: Vec<Operation>,
    /// The share of pages that is looked at, 0–1.
    pub rate: f64,
    /// Requests that are kept at most, 4 bytes each; the rate falls where there are more.
    pub most: usize,
    /// Which pages are taken.
    pub seed: u64,
}

/// The requests of a trace.
#[derive(Debug, Clone)]
pub struct Requests {
    /// Those that are looked at.
    pub sample: Sample,
    /// What was read.
    pub summary: Summary,
}

/// Events that are read at once.
const BATCH: usize = 4096;
/// Batches between two looks at the progress.
const BETWEEN: u32 = 32;

/// Reads the whole trace; `None` if the user has ended it.
///
/// # Errors
/// The trace is no good, or has more different pages than there are numbers.
pub fn read(
    trace: &mut Trace,
    options: &Options,
    monitor: &dyn Monitor,
) -> Result<Option<Requests>> {
    let wanted = Operation::ALL.map(|operation| options.only.contains(&operation));
    let mut sampler = Sampler::new(options.rate, options.seed).at_most(options.most);
    let mut numbering = Numbering::default();
    let (mut events, mut keys) = (Vec::new(), Vec::new());
    for batch in 0_u32.. {
        let more = trace.read(&mut events, BATCH)?;
        let requests = events.iter().filter(|event| wanted[event.operation as usize]);
        keys.clear();
        keys.extend(requests.map(|event| numbering.key(event)));
        sampler.extend(&keys).map_err(|why: SpaceError| Error::Invalid(why.to_string()))?;
        events.clear();
        if batch.is_multiple_of(BETWEEN) {
            monitor.progress(trace.progress().unwrap_or(0.0) * 0.2, "reading");
        }
        if monitor.stop_requested() {
            return Ok(None);
        }
        if !more {
            break;
        }
    }
    Ok(Some(Requests { sample: sampler.finish(), summary: trace.summary() }))
}
