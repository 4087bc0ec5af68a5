//! The load on a machine while probes ran, and the facts and reasons that follow from it.
//!
//! A probe brings its own memory and threads, so it may be healthy while programs on the machine
//! are not. Each delay decides what the load means for its verdict.

mod facts;
mod next;
mod reasons;

use std::fmt;

pub use next::SWITCHES;
use unjank_host::surroundings::{MachineActivity, ProgramActivity, Throttled};

/// Counts of the kernel while the probes ran.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Load {
    /// Counts over the whole run.
    pub whole: MachineActivity,
    /// The run without the starts in which our own probe evicted memory.
    pub calm: MachineActivity,
    /// The number of starts in `calm`.
    pub parts: u64,
    /// The share of the 10 s before the run in which some task waited for
    /// memory.
    pub memory_before: Option<f64>,
    /// The counts of other programs over the whole run.
    pub programs: Vec<ProgramActivity>,
}

/// A program, printed as `name[pid]`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Program {
    /// Its name, of which the kernel keeps 15 bytes.
    pub name: String,
    /// Its process id: [`ProgramActivity::process`].
    pub number: u32,
}

impl Program {
    fn of(activity: &ProgramActivity) -> Self {
        Self { name: activity.name.clone(), number: activity.process }
    }
}

impl fmt::Display for Program {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}[{}]", self.name, self.number)
    }
}

impl Load {
    /// The control group that its CPU quota stopped in the largest share of periods.
    pub fn most_throttled(&self) -> Option<(&str, Throttled)> {
        let throttled = self.whole.throttled.iter().map(|(group, it)| (group.as_str(), *it));
        throttled.max_by(|(_, a), (_, b)| a.share().total_cmp(&b.share()))
    }

    /// The program with the highest count `what` of those that `fits` accepts, with its rate per
    /// second, if that is at least `at_least`.
    pub fn most(
        &self,
        what: impl Fn(&ProgramActivity) -> u64,
        at_least: f64,
        fits: impl Fn(&ProgramActivity) -> bool,
    ) -> Option<(Program, f64)> {
        let (most, rate) = self.most_active(what, at_least, fits)?;
        Some((Program::of(most), rate))
    }

    fn most_active(
        &self,
        what: impl Fn(&ProgramActivity) -> u64,
        at_least: f64,
        fits: impl Fn(&ProgramActivity) -> bool,
    ) -> Option<(&ProgramActivity, f64)> {
        let programs = self.programs.iter().filter(|program| fits(program));
        let most = programs.max_by_key(|program| what(program))?;
        let rate = a_second(what(most), &self.whole);
        (rate >= at_least).then_some((most, rate))
    }

    /// Pages from swap a second, without those of our own probe.
    pub fn swapped_in(&self) -> f64 {
        a_second(self.calm.swapped_in, &self.calm)
    }
}

fn a_second(count: u64, span: &MachineActivity) -> f64 {
    count as f64 / span.length.as_secs_f64().max(1e-3)
}
