//! The trace of the scheduler until the first missed deadline.

use std::path::Path;

use unjank_host::tracefs::{
    Instance, InstanceOptions, Trace, Tracefs, TripwirePaths, buffer_per_cpu,
};
use unjank_host::{Bytes, Error, Result, Root, Support};

/// Buffer for each CPU: some seconds of back-to-back calls. Less on a machine
/// with many CPUs.
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
        let options =
            InstanceOptions { buffer: buffer_per_cpu(root, BUFFER), ..InstanceOptions::default() };
        let instance = tracefs.instance(&options)?;
        instance.start()?;
        Ok(Support::Yes(Self(instance)))
    }

    /// The files with which a client process stops the trace.
    pub(super) fn tripwire(&self) -> Option<TripwirePaths> {
        self.0.tripwire()
    }

    /// Ends the recording. Returns the trace, and the error if its text could
    /// not be written to `keep`.
    pub(super) fn finish(self, keep: Option<&Path>) -> Result<(Trace, Option<Error>)> {
        self.0.stop()?;
        let lost = keep.and_then(|path| self.0.save_text(path).err());
        let trace = self.0.read_events()?;
        self.0.remove()?;
        Ok((trace, lost))
    }
}
