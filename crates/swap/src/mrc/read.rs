//! Reads the requests of a trace.

use unjank_host::{Error, Result};
use unjank_measure::Monitor;

use crate::trace::{Numbering, Operation, Summary, Trace};
use unjank_cachesim::mrc::{Sample, Sampler};
use unjank_cachesim::page::SpaceError;

/// Options for reading requests.
#[derive(Debug, Clone)]
pub struct Options {
    /// Operations that count as requests.
    pub only: Vec<Operation>,
    /// The share of pages to sample, 0–1.
    pub rate: f64,
    /// The maximum number of requests to keep, 4 bytes each; with more, the rate is halved.
    pub most: usize,
    /// The seed that selects the pages of a sample.
    pub seed: u64,
}

/// The requests of a trace.
#[derive(Debug, Clone)]
pub struct Requests {
    /// The requests for all of its pages, or for a sample of them.
    pub sample: Sample,
    /// The summary of the trace.
    pub summary: Summary,
}

/// Events per batch.
const BATCH: usize = 4096;
/// Batches between two updates of the progress.
const BETWEEN: u32 = 32;

/// Reads the whole trace; `None` if the user interrupted it.
///
/// # Errors
/// The trace is malformed or has too many different pages.
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
