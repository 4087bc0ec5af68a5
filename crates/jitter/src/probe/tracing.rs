//! Traces the scheduler during a run, in a private trace instance.

use std::ops::RangeInclusive;
use std::path::Path;

use unjank_host::tracefs::{Instance, InstanceOptions, Trace, Tracefs, buffer_per_cpu};
use unjank_host::{Bytes, Nanos, Result, Root, Support};

use super::options::Options;
use super::worst::WakeUp;
use crate::explain::cause_events;

/// Buffer on each CPU for each second: enough for a busy CPU. Less on a machine
/// with many CPUs.
const BUFFER_A_SECOND: Bytes = Bytes::from_mib(1);
/// The smallest and largest buffer on each CPU.
const BUFFER: RangeInclusive<Bytes> = Bytes::from_mib(8)..=Bytes::from_mib(64);

/// A trace that is being recorded.
pub(crate) struct Tracing(Instance);

impl Tracing {
    /// Starts recording on the CPUs of the run. First removes the trace instances
    /// that killed processes have left behind.
    pub(crate) fn start(options: &Options, root: &Root) -> Result<Support<Self>> {
        let tracefs = match Tracefs::open(root) {
            Support::Yes(tracefs) => tracefs,
            Support::No(reason) => return Ok(Support::No(reason)),
        };
        tracefs.remove_leftovers()?;
        let instance = tracefs.instance(&InstanceOptions {
            buffer: buffer_per_cpu(root, buffer(options.duration)),
            cpus: Some(options.cpus.clone()),
            events: cause_events(),
            ..InstanceOptions::default()
        })?;
        instance.start()?;
        Ok(Support::Yes(Self(instance)))
    }

    /// Marks and stops the trace, on the thread that was late. If one of the two
    /// system calls fails, the trace only holds more than it should.
    pub(crate) fn stop_at(&self, wakeup: WakeUp) {
        let text = format!("unjank: woken {} late", wakeup.latency());
        let _unmarked = self.0.mark(&text);
        let _still_on = self.0.stop();
    }

    /// Stops recording and returns the trace; saves it as text in `keep`.
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

/// Buffer on each CPU for a run of this length.
fn buffer(duration: Nanos) -> Bytes {
    let seconds = duration.get().div_ceil(1_000_000_000);
    let room = Bytes(BUFFER_A_SECOND.get().saturating_mul(seconds));
    room.clamp(*BUFFER.start(), *BUFFER.end())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn longer_runs_have_larger_buffers_up_to_a_limit() {
        let mib = |seconds: u64| buffer(Nanos(seconds.saturating_mul(1_000_000_000))).get() >> 20;
        assert_eq!([0, 2, 10, 60, 3_600, u64::MAX].map(mib), [8, 8, 10, 60, 64, 64]);
    }
}
