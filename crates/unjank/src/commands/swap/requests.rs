//! Options of the commands that simulate the requests of a trace, all or those for a sample of its
//! pages.

use std::path::PathBuf;

use anyhow::Result;
use unjank_cachesim::mrc::Algorithm;
use unjank_host::{Bytes, Error};
use unjank_measure::Monitor;
use unjank_swap::mrc::{self, Requests};
use unjank_swap::trace::{Operation, Trace};

use super::reading::{self, ReadingArgs};
use crate::commands::measured::Settings;
use crate::values;

/// The least memory for requests.
const LEAST: u64 = 4096;
/// The memory of a request, and of its next use, which only offline optima need, in bytes.
const REQUEST: u64 = 4;

#[derive(Debug, clap::Args)]
pub(super) struct RequestArgs {
    /// The share of the pages to simulate, selected by a hash with --seed
    #[arg(long, value_name = "SHARE", default_value = "1", value_parser = values::share_of_whole)]
    sample: f64,
    /// Maximum memory for the requests of a trace; if they need more, the share of pages is halved
    /// until they fit
    #[arg(long = "max-memory", value_name = "SIZE", default_value = "2GiB", value_parser = values::bytes)]
    memory: Bytes,
    /// Which operations count as requests
    #[arg(long = "operations", value_name = "OPERATION,…", value_delimiter = ',', value_parser = reading::operation,
          default_value = "read,write,page-in,page-out,first-touch")]
    only: Vec<Operation>,
}

impl RequestArgs {
    /// Rejects less memory than any sample needs.
    pub(super) fn check(&self) -> Result<(), Error> {
        if self.memory.get() < LEAST {
            return Err(Error::Invalid("--max-memory must be at least 4 KiB".to_owned()));
        }
        Ok(())
    }

    /// Adds these options to those of the record.
    pub(super) fn add_to(&self, settings: Settings) -> Settings {
        settings
            .with("sample", self.sample)
            .with("max_memory", self.memory.get())
            .with("operations", self.only.iter().map(|only| only.name()).collect::<Vec<_>>())
    }

    /// Reads the requests of a trace for these algorithms; `None` if the user interrupted it.
    pub(super) fn read(
        &self,
        paths: &[PathBuf],
        reading: &ReadingArgs,
        algorithms: &[Algorithm],
        seed: u64,
        monitor: &dyn Monitor,
    ) -> Result<Option<Requests>> {
        let offline = algorithms.iter().any(|algorithm| algorithm.is_offline());
        let each = if offline { 2 * REQUEST } else { REQUEST };
        let options = mrc::Options {
            only: self.only.clone(),
            rate: self.sample,
            most: usize::try_from(self.memory.get() / each).unwrap_or(usize::MAX),
            seed,
        };
        let mut trace = Trace::open(paths, &reading.options())?;
        let requests = mrc::read(&mut trace, &options, monitor)?;
        if let Some(Requests { sample, .. }) = &requests
            && sample.pages().is_empty()
            && sample.requests() > 0
        {
            let requests = sample.requests();
            return Err(Error::Invalid(format!(
                "none of the trace's {requests} requests is in the sample; give --sample a larger \
                 share"
            ))
            .into());
        }
        Ok(requests)
    }

    /// A warning if a smaller share of the pages than asked for fits into the memory.
    pub(super) fn warning(&self, rate: f64) -> Option<String> {
        (rate < self.sample).then(|| {
            format!(
                "only {:.3} % of the pages are simulated, because the requests for more do not \
                 fit into {} (--max-memory)",
                rate * 100.0,
                self.memory
            )
        })
    }
}
