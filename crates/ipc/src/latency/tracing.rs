//! What the scheduler did meanwhile, until the first missed deadline.

use std::path::Path;

use unjank_host::tracefs::{Instance, InstanceOptions, Trace, Tracefs, TripwirePaths};
use unjank_host::{Bytes, Result, Root, Support};

/// Room for events on each CPU: some seconds of back-to-back calls.
const BUFFER: Bytes = Bytes::from_mib(4);

/// A trace that is being recorded.
pub(super) struct Tracing(Instance);

impl Tracing {
    /// Records from now on, on all CPUs.
    pub(super) fn start(root: &Root) -> Result<Support<Self>> {
        let tracefs = match Tracefs::open(root) {
            Support::Yes(tracefs) => tracefs,
            Support::No(reason) => return Ok(Support::No(reason)),
        };
        tracefs.remove_leftovers()?;
        let options = InstanceOptions { buffer: BUFFER, ..InstanceOptions::default() };
        let instance = tracefs.instance(&options)?;
        instance.start()?;
        Ok(Support::Yes(Self(instance)))
    }

    /// How a client process stops it.
    pub(super) fn tripwire(&self) -> Option<TripwirePaths> {
        self.0.tripwire()
    }

    /// Ends the recording and gives what it holds, as text in `keep` too.
    pub(super) fn finish(self, keep: Option<&Path>) -> Result<Trace> {
        self.0.stop()?;
        if let Some(path) = keep {
            self.0.save_text(path)?;
        }
        let trace = self.0.read_events()?;
        self.0.remove()?;
        Ok(trace)
    }
}
