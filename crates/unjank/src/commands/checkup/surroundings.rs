//! Watches the machine while the probes run.

use unjank_host::Root;
use unjank_host::process::is_descendant;
use unjank_host::surroundings::{MachineActivity, Processes, Surroundings};
use unjank_measure::Findings;

use super::delay::Delay;
use super::weigh::{self, Lived};

/// Looks at the machine between the parts of a checkup. Nothing is read while
/// a probe runs.
pub(super) struct Watch<'a> {
    root: &'a Root,
    began: Surroundings,
    last: Surroundings,
    processes: Processes,
    calm: MachineActivity,
    parts: u64,
}

impl<'a> Watch<'a> {
    /// Begins.
    pub(super) fn start(root: &'a Root) -> Self {
        let processes = Processes::read(root);
        let began = Surroundings::read(root);
        let (last, calm) = (began.clone(), MachineActivity::default());
        Self { root, began, last, processes, calm, parts: 0 }
    }

    /// A probe has run since the last call. That of swap evicts memory of its
    /// own and reads it back, which the kernel counts as it counts anybody's.
    pub(super) fn part_ended(&mut self, delay: Delay) {
        let now = Surroundings::read(self.root);
        if delay != Delay::Swap {
            let calm = std::mem::take(&mut self.calm);
            self.calm = calm.and(&now.since(&self.last));
            self.parts += 1;
        }
        self.last = now;
    }

    /// Adds what was seen to the rows and the facts.
    pub(super) fn weigh(self, findings: &mut Findings) {
        let own = std::process::id();
        let is_own = |number| number == own || is_descendant(self.root, number, own);
        let lived = Lived {
            whole: Surroundings::read(self.root).since(&self.began),
            calm: self.calm,
            parts: self.parts,
            memory_before: self.began.pressure.map(|it| it.memory.some_avg10 / 100.0),
            deeds: Processes::read(self.root).since(&self.processes, is_own),
        };
        let rows = std::mem::take(&mut findings.verdicts);
        findings.verdicts = rows.into_iter().map(|row| weigh::weigh(row, &lived)).collect();
        findings.facts.extend(weigh::facts(&lived));
    }
}
