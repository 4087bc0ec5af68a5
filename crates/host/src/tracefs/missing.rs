//! Switches that a trace lacks, though the kernel counts no loss. The thread that leaves a CPU must
//! be the one that got it at the switch before.

use super::event::EventKind;
use super::trace::Trace;
use crate::clock::Timestamp;
use crate::sched::ThreadId;

/// Recorded switches of a time, and those before which others are missing.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Switches {
    /// Recorded ones that follow another one of their CPU without a gap.
    pub recorded: u64,
    /// Those of them by which another thread leaves the CPU than the one that got it: at least one
    /// switch is missing before each.
    pub unconnected: u64,
}

impl Trace {
    /// Whether switches connect between two moments.
    pub fn switches(&self, from: Timestamp, to: Timestamp) -> Switches {
        let mut switches = Switches::default();
        for cpu in &self.cpus {
            let mut before: Option<(Timestamp, ThreadId)> = None;
            let mut gaps = cpu.gaps.iter().peekable();
            for event in &cpu.events {
                let EventKind::Switch { prev, next, .. } = event.kind else { continue };
                let last = before.replace((event.at, next.tid));
                if event.at < from || event.at > to {
                    continue;
                }
                let Some((since, got_it)) = last else { continue };
                while gaps.next_if(|gap| gap.to <= since).is_some() {}
                if gaps.peek().is_some_and(|gap| gap.overlaps(since, event.at)) {
                    continue;
                }
                switches.recorded += 1;
                switches.unconnected += u64::from(got_it != prev.tid);
            }
        }
        switches
    }
}

#[cfg(test)]
mod tests {
    use super::super::script::{Script, at};
    use super::super::trace::Gap;
    use super::*;

    #[test]
    fn a_thread_that_leaves_a_cpu_without_having_got_it_shows_a_missing_switch() {
        let script = Script::new()
            .runs(0, 0, 0, 7)
            .runs(0, 10, 7, 8)
            .runs(0, 20, 9, 0)
            .runs(1, 5, 0, 3)
            .runs(1, 30, 3, 0);
        let mut trace = script.trace();
        let switches = |trace: &Trace| trace.switches(at(0), at(100));
        assert_eq!(switches(&trace), Switches { recorded: 3, unconnected: 1 });
        assert_eq!(trace.switches(at(25), at(100)), Switches { recorded: 1, unconnected: 0 });
        trace.cpus[0].gaps = vec![Gap { from: at(12), to: at(15) }];
        assert_eq!(switches(&trace), Switches { recorded: 2, unconnected: 0 }, "a known loss");
    }
}
