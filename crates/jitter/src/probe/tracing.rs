//! What the scheduler did meanwhile: a private trace instance beside the run.

use std::ops::RangeInclusive;
use std::path::Path;

use unjank_host::tracefs::{Instance, InstanceOptions, Trace, Tracefs, buffer_per_cpu};
use unjank_host::{Bytes, Nanos, Result, Root, Support};

use super::options::Options;
use super::worst::WakeUp;
use crate::explain::cause_events;

/// Room for events on each CPU for every second: that of a busy one. Less on a
/// machine with many CPUs.
const BUFFER_A_SECOND: Bytes = Bytes::from_mib(1);
/// Room that every run has, and that no run exceeds.
const BUFFER: RangeInclusive<Bytes> = Bytes::from_mib(8)..=Bytes::from_mib(64);

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
            buffer: buffer_per_cpu(root, buffer(options.duration)),
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

/// Room on each CPU for a run of this length.
fn buffer(duration: Nanos) -> Bytes {
    let seconds = duration.get().div_ceil(1_000_000_000);
    let room = Bytes(BUFFER_A_SECOND.get().saturating_mul(seconds));
    room.clamp(*BUFFER.start(), *BUFFER.end())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn longer_runs_have_more_room_up_to_a_limit() {
        let mib = |seconds: u64| buffer(Nanos(seconds.saturating_mul(1_000_000_000))).get() >> 20;
        assert_eq!([0, 2, 10, 60, 3_600, u64::MAX].map(mib), [8, 8, 10, 60, 64, 64]);
    }
}
