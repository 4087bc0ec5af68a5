//! What the kernel counted while the probes ran, and the largest of these counts.

use std::fmt;

use unjank_host::surroundings::{GroupWaits, MachineActivity, ProgramActivity, Throttled};
use unjank_measure::{Unit, Verdict};

use super::MEMORY;

/// Names of the shares of time.
const WAITED_FOR_MEMORY: &str = "share of the time in which some task waited for memory";
const WAITED_BEFORE: &str = "share of the 10 s before in which some task waited for memory";
pub(super) const WAITED_FOR_SWAP: &str =
    "share of the time that pages from swap took, at the probe's median for each";

/// What the kernel counted while the probes ran.
#[derive(Debug, Clone, Default, PartialEq)]
pub(in super::super) struct Observed {
    /// The whole run.
    pub(in super::super) whole: MachineActivity,
    /// The run without the starts in which our own probe evicted memory.
    pub(in super::super) calm: MachineActivity,
    /// The number of starts in `calm`.
    pub(in super::super) parts: u64,
    /// The share of the 10 s before the run in which some task waited for
    /// memory.
    pub(in super::super) memory_before: Option<f64>,
    /// The counts of other programs over the whole run.
    pub(in super::super) deeds: Vec<ProgramActivity>,
}

/// A program, printed as `name[pid]`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Program {
    pub(super) name: String,
    pub(super) number: u32,
}

impl fmt::Display for Program {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}[{}]", self.name, self.number)
    }
}

impl Observed {
    /// The largest share of time spent waiting for memory, and its name.
    ///
    /// Pressure counts only those pages from swap that were in use when they were
    /// evicted (`swap_read_folio` of `mm/page_io.c`). So the number of pages from
    /// swap times the probe's median is considered as well.
    pub(super) fn memory(&self, probe: &Verdict) -> Option<(String, f64)> {
        let pressure = match self.calm.memory.filter(|_| self.parts > 0) {
            Some(waited) => Some((WAITED_FOR_MEMORY, self.calm.share(waited.some))),
            // Our own probe evicted memory all the time, or the kernel does not count.
            None => self.memory_before.map(|share| (WAITED_BEFORE, share)),
        };
        let median = probe.measured.as_ref().filter(|it| it.unit == Unit::Nanoseconds);
        let swapped = median.filter(|_| self.parts > 0).map(|median| {
            let pages = a_second(self.calm.swapped_in, &self.calm);
            (WAITED_FOR_SWAP, (pages * median.value / 1e9).min(1.0))
        });
        let largest = pressure.into_iter().chain(swapped).max_by(|a, b| a.1.total_cmp(&b.1));
        largest.map(|(name, share)| (name.to_owned(), share))
    }

    /// The deepest control group whose waits for memory are at least 80 % of the
    /// largest, if the largest is too much.
    pub(super) fn group_short_of_memory(&self) -> Option<(&str, f64)> {
        let share = |waits: &GroupWaits| self.calm.share(waits.memory.some);
        let most = self.calm.groups.values().map(share).fold(0.0, f64::max);
        let near = self.calm.groups.iter().filter(|(_, waits)| share(waits) >= 0.8 * most);
        let depth = |path: &str| path.matches('/').count();
        let (path, waits) = near.max_by_key(|(path, _)| depth(path))?;
        (most > MEMORY).then(|| (path.as_str(), share(waits)))
    }

    pub(super) fn most_throttled(&self) -> Option<(&str, Throttled)> {
        let throttled = self.whole.throttled.iter().map(|(group, it)| (group.as_str(), *it));
        throttled.max_by(|(_, a), (_, b)| a.share().total_cmp(&b.share()))
    }

    /// Of the programs that `fits`, the one with the highest count `what`, if that is
    /// `at_least` so many a second.
    pub(super) fn most(
        &self,
        what: impl Fn(&ProgramActivity) -> u64,
        at_least: f64,
        fits: impl Fn(&ProgramActivity) -> bool,
    ) -> Option<(Program, f64)> {
        let most = self.deeds.iter().filter(|deeds| fits(deeds)).max_by_key(|deeds| what(deeds))?;
        let rate = a_second(what(most), &self.whole);
        let program = Program { name: most.name.clone(), number: most.process };
        (rate >= at_least).then_some((program, rate))
    }
}

pub(super) fn a_second(count: u64, span: &MachineActivity) -> f64 {
    count as f64 / span.length.as_secs_f64().max(1e-3)
}
