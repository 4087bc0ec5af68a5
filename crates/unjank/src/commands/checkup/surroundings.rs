//! Reads the kernel's machine-wide counters during a checkup.

use unjank_host::process::is_descendant;
use unjank_host::surroundings::{MachineActivity, Processes, Surroundings};
use unjank_host::{Nanos, Root, Timestamp};
use unjank_measure::{Findings, Load};

use super::delay::Delay;

/// The longest time to read the counters of all programs.
const LONGEST: Nanos = Nanos::from_millis(400);

/// Reads the machine's counters between the starts of a checkup. Nothing is read
/// while a probe runs.
pub(super) struct Watch<'a> {
    root: &'a Root,
    began: Surroundings,
    last: Surroundings,
    /// `None` if there was no time to read all.
    processes: Option<Processes>,
    calm: MachineActivity,
    parts: u64,
}

impl<'a> Watch<'a> {
    /// Takes the first reading.
    pub(super) fn start(root: &'a Root) -> Self {
        let processes = Processes::read_by(root, Timestamp::now() + LONGEST);
        let began = Surroundings::read(root);
        let (last, calm) = (began.clone(), MachineActivity::default());
        Self { root, began, last, processes, calm, parts: 0 }
    }

    /// Takes a reading after a probe. The swap probe evicts and reads back its own
    /// memory, which the kernel counts like any other, so it is left out of `calm`.
    pub(super) fn part_ended(&mut self, delay: Delay) {
        let now = Surroundings::read(self.root);
        if delay != Delay::Swap {
            let calm = std::mem::take(&mut self.calm);
            self.calm = calm.and(&now.since(&self.last));
            self.parts += 1;
        }
        self.last = now;
    }

    /// Counts until the last probe. Warns if programs are missing.
    pub(super) fn load(self, findings: &mut Findings) -> Load {
        let later = Processes::read_by(self.root, Timestamp::now() + LONGEST);
        let own = std::process::id();
        let is_own = |number| number == own || is_descendant(self.root, number, own);
        let programs = if let (Some(earlier), Some(later)) = (&self.processes, later) {
            later.since(earlier, is_own)
        } else {
            findings.warn(
                "the machine was too slow to read all processes in time: no program is named as a \
                 cause",
            );
            Vec::new()
        };
        Load {
            whole: self.last.since(&self.began),
            calm: self.calm,
            parts: self.parts,
            memory_before: self.began.pressure.map(|it| it.memory.some_avg10 / 100.0),
            programs,
        }
    }
}
