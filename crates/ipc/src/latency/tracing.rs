//! What the scheduler did meanwhile, until the first missed deadline.

use std::path::Path;

use unjank_host::tracefs::{
    Instance, InstanceOptions, Trace, Tracefs, TripwirePaths, buffer_per_cpu,
};
use unjank_host::{Bytes, Error, Result, Root, Support};

/// Room for events on each CPU: some seconds of back-to-back calls. Less
/// on a machine with many.
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

    /// How a client process stops it.
    pub(super) fn tripwire(&self) -> Option<TripwirePaths> {
        self.0.tripwire()
    }

    /// Ends the recording and gives what it holds, and why its text could not
    /// be kept in `keep`, if it could not.
    pub(super) fn finish(self, keep: Option<&Path>) -> Result<(Trace, Option<Error>)> {
        self.0.stop()?;
        let lost = keep.and_then(|path| self.0.save_text(path).err());
        let trace = self.0.read_events()?;
        self.0.remove()?;
        Ok((trace, lost))
    }
}
