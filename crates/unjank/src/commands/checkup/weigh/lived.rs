//! What the machine lived through while the probes ran, and the largest of it.

use std::fmt;

use unjank_host::surroundings::{GroupWaits, MachineActivity, ProgramActivity, Throttled};
use unjank_measure::{Unit, Verdict};

use super::MEMORY;

/// What a share of time that was waited for memory is.
const WAITED_FOR_MEMORY: &str = "share of the time in which some task waited for memory";
const WAITED_BEFORE: &str = "share of the 10 s before in which some task waited for memory";
pub(super) const WAITED_FOR_SWAP: &str =
    "share of the time that pages from swap took, at the probe's median for each";

/// What the machine lived through while the probes ran.
#[derive(Debug, Clone, Default, PartialEq)]
pub(in super::super) struct Lived {
    /// The whole run.
    pub(in super::super) whole: MachineActivity,
    /// The run without the parts in which a probe of ours evicted memory.
    pub(in super::super) calm: MachineActivity,
    /// How many parts that are.
    pub(in super::super) parts: u64,
    /// The share of the 10 s before the run in which some task waited for
    /// memory.
    pub(in super::super) memory_before: Option<f64>,
    /// What programs did in the whole run, without ours.
    pub(in super::super) deeds: Vec<ProgramActivity>,
}

/// A program as it is named in a row.
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

impl Lived {
    /// The largest share of time that was waited for memory, and what that
    /// number is.
    ///
    /// Pressure leaves out most pages that come from swap: only those count
    /// that were in use when they were evicted (`swap_read_folio` of
    /// `mm/page_io.c`). So these are multiplied by the probe's median as well.
    pub(super) fn memory(&self, probe: &Verdict) -> Option<(String, f64)> {
        let pressure = match self.calm.memory.filter(|_| self.parts > 0) {
            Some(waited) => Some((WAITED_FOR_MEMORY, self.calm.share(waited.some))),
            // All the time, a probe of ours evicted memory; or the kernel does not count.
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

    /// The group farthest down in which nearly as much was waited for memory
    /// as in any, if that is too much.
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

    /// The program among those that `fits` that did most, if it did it so
    /// often in a second.
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
