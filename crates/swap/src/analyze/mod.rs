//! Statistics of a trace: skew, reuse, thrashing, launches, and which processes cause them.
//!
//! A trace is read once. Memory is taken per page, not per event; each module says how much.
//!
//! | module | subject |
//! |---|---|
//! | [`skew`] | how unevenly accesses are spread over the data |
//! | [`makers`](Makers) | which kinds, spaces and processes make the hottest accesses |
//! | [`kind`] | the kind of a page |
//! | [`paging`] | evictions and refaults |
//! | [`thrash`] | episodes in which evicted pages come back quickly |
//! | [`inversion`] | cold pages on a fast device and hot ones on a slow one |
//! | [`launches`] | I/O after launches of apps |
//! | [`paper`] | values of papers, for comparison |
//! | [`tables()`] | the analysis as tables |

mod accesses;
mod analysis;
mod findings;
pub mod inversion;
pub mod kind;
pub mod launches;
mod makers;
mod options;
pub mod paging;
pub mod paper;
pub mod skew;
mod state;
mod tables;
pub mod thrash;

use unjank_host::{Error, Result};
use unjank_measure::Monitor;

use crate::trace::Trace;
use unjank_cachesim::page::SpaceError;

pub use analysis::Analysis;
pub use findings::{MAKERS, findings, papers};
pub use inversion::Inversion;
pub use kind::PageKind;
pub use launches::Launch;
pub use makers::{Maker, Makers};
pub use options::{ACCESSES, Options};
pub use paging::Paging;
pub use skew::Skew;
pub use tables::tables;
pub use thrash::Episode;

use state::State;

/// Events per batch.
const BATCH: usize = 4096;
/// Batches between two updates of the progress.
const BETWEEN: u32 = 32;

/// Analyses a trace to its end or an interrupt. `label` is its name.
///
/// # Errors
/// The trace is malformed or has too many different pages.
pub fn run(
    trace: &mut Trace,
    label: &str,
    options: &Options,
    monitor: &dyn Monitor,
) -> Result<Analysis> {
    let mut state = State::new(label, options);
    let mut events = Vec::new();
    for batch in 0_u32.. {
        let more = trace.read(&mut events, BATCH)?;
        state.take(&events, trace).map_err(too_many)?;
        events.clear();
        if batch.is_multiple_of(BETWEEN) {
            monitor.progress(trace.progress().unwrap_or(0.0), label);
        }
        if !more || monitor.stop_requested() {
            break;
        }
    }
    Ok(state.finish(trace, label, options))
}

fn too_many(error: SpaceError) -> Error {
    Error::Invalid(error.to_string())
}

#[cfg(test)]
mod tests {
    use std::fmt::Write as _;

    use unjank_measure::Silent;

    use super::*;
    use crate::trace::Options as Reading;

    #[test]
    fn memory_depends_on_pages_not_on_events() {
        let trace = |rounds: u64| {
            let mut text = "time_ns,process,space,page,operation,backing\n".to_owned();
            for at in 0..rounds * 20_000 {
                let (page, back) = (at / 2 % 10_000, at % 2 == 1);
                let operation = if back { "page-in" } else { "page-out" };
                writeln!(text, "{at},app,zram0,{page},{operation},anonymous").unwrap();
            }
            let mut trace =
                Trace::from_memory("x.csv", text.into_bytes(), &Reading::default()).unwrap();
            run(&mut trace, "x", &Options::default(), &Silent).unwrap()
        };
        let (short, long) = (trace(1), trace(5));
        assert_eq!((short.skew.pages(), long.skew.accesses()), (10_000, 100_000));
        assert!(short.bytes < 10_000 * 150, "{}", short.bytes);
        assert_eq!(short.bytes, long.bytes);
    }
}
