//! What the scheduler did meanwhile: a private trace instance beside the run.

use std::path::Path;

use unjank_host::tracefs::{Instance, InstanceOptions, Trace, Tracefs, buffer_per_cpu};
use unjank_host::{Bytes, Result, Root, Support};

use super::options::Options;
use super::worst::WakeUp;
use crate::explain::cause_events;

/// Room for events on each CPU: some ten seconds of a busy one. Less on a
/// machine with many.
const BUFFER: Bytes = Bytes::from_mib(8);
/// A trace that is being recorded.
pub(crate) struct Tracing(Instance);

impl Tracing {
    /// Records from now on, on the CPUs of the run. What processes that died
    /// have left behind in tracefs is removed first.
    pub(crate) fn start(options: &Options, root: &Root) -> Result<Support<Self>> {
        let tracefs = match Tracefs::open(root) {
            Support::Yes(tracefs) => tracefs,
            Support::No(reason) => return Ok(Support::No(reason)),
        };
        tracefs.remove_leftovers()?;
        let instance = tracefs.instance(&InstanceOptions {
            buffer: buffer_per_cpu(root, BUFFER),
            cpus: Some(options.cpus.clone()),
            events: cause_events(),
            ..InstanceOptions::default()
        })?;
        instance.start()?;
        Ok(Support::Yes(Self(instance)))
    }

    /// Marks and stops the trace, on the thread that was late. Two system
    /// calls; if one fails, the trace only holds more than it should.
    pub(crate) fn stop_at(&self, wakeup: WakeUp) {
        let text = format!("unjank: woken {} late", wakeup.latency());
        let _unmarked = self.0.mark(&text);
        let _still_on = self.0.stop();
    }

    /// Ends the recording and gives what it holds, as text in `keep` too.
    pub(crate) fn finish(self, keep: Option<&Path>) -> Result<Trace> {
        self.0.stop()?;
        if let Some(path) = keep {
            self.0.save_text(path)?;
        }
        let trace = self.0.read_events()?;
        self.0.remove()?;
        Ok(trace)
    }
}
