//! Options: the program, the number of its launches, and the compared conditions.

use std::ffi::OsString;
use std::path::PathBuf;
use std::sync::Arc;

use unjank_host::cgroup::memory::MemoryGroup;
use unjank_host::sched::Policy;
use unjank_host::{Error, Nanos, Result};

use super::condition::Condition;
use super::ready::Ready;

/// Options of `launch bench`.
#[derive(Debug, Clone)]
pub struct Options {
    /// Workloads, each compared by itself.
    pub workloads: Vec<Workload>,
    /// The condition that the others are compared with.
    pub baseline: Condition,
    /// The conditions that are each compared with the baseline.
    pub others: Vec<Condition>,
    /// Whether the baseline is only measured. The one other condition is then itself
    /// ([`Condition::again`]), so that pairs show the noise.
    pub is_alone: bool,
    /// Pairs of launches of each workload under each of the other conditions.
    pub pairs: usize,
    /// Pairs of launches before these that do not count.
    pub warm_up: usize,
    /// Idle time before each launch, under its condition, so that clocks fall.
    /// Up to 100 ms more are added at random, so that launches do not keep step
    /// with a governor's period.
    pub pause: Nanos,
    /// Period of wake-ups of each CPU during the pause, like an idle device's
    /// timers; zero for none.
    pub wake_every: Nanos,
    /// Longest time of a launch until it counts as failed.
    pub timeout: Nanos,
    /// The time over which the energy of a launch is measured, from its start.
    /// It is the same for all launches, so costs after a launch count, too.
    pub energy_window: Nanos,
    /// Whether the page cache is dropped before each launch.
    pub drop_caches: bool,
    /// The means by which programs report that they are ready.
    pub means: ReadyMeans,
}

/// The means by which programs report that they are ready.
#[derive(Debug, Clone, Default)]
pub struct ReadyMeans {
    /// A directory in which sockets can be made, for programs that notify or show
    /// windows on Wayland. No other user may replace entries there.
    pub sockets: PathBuf,
    /// The X display, for programs whose window is waited for.
    pub display: Option<String>,
    /// The socket of the Wayland compositor, for the same.
    pub wayland: Option<PathBuf>,
}

/// A program, and its name among the workloads.
#[derive(Debug, Clone)]
pub struct Workload {
    /// A segment of the names of its series: `load-100ms`; empty if it is the
    /// only workload.
    pub name: String,
    /// The program to launch, and how it reports that it is ready.
    pub program: Program,
    /// Whether the line that reports that it is ready is a
    /// [`Timing`](crate::load::Timing), which gives its basic launch time.
    pub times_itself: bool,
}

/// A program, and how it reports that it is ready.
#[derive(Debug, Clone)]
pub struct Program {
    /// The program and its arguments.
    pub command: Vec<OsString>,
    /// The event at which its launch is over.
    pub ready: Ready,
    /// The policy that it starts with, which its children inherit; `None` for that of unjank.
    /// See [`InheritedPolicy`](unjank_host::sched::InheritedPolicy) for those that are possible.
    pub policy: Option<Policy>,
    /// Variables of its environment that differ from unjank's own, by name.
    pub environment: Vec<(OsString, OsString)>,
    /// The control group that it starts in; `None` for that of unjank.
    pub group: Option<Arc<MemoryGroup>>,
    /// It runs beside launches: processes outside its process group may be theirs.
    pub is_service: bool,
}

impl Program {
    /// A program to launch, with the policy of unjank.
    pub fn new(command: Vec<OsString>, ready: Ready) -> Self {
        Self {
            command,
            ready,
            policy: None,
            environment: Vec::new(),
            group: None,
            is_service: false,
        }
    }

    /// Its name in messages.
    pub fn name(&self) -> String {
        self.command.first().map(|name| name.display().to_string()).unwrap_or_default()
    }
}

impl Options {
    pub(super) fn check(&self) -> Result<()> {
        let wrong = |what: &str| Err(Error::Invalid(what.to_owned()));
        let mut conditions = vec![&self.baseline.name];
        conditions.extend(self.others.iter().map(|other| &other.name));
        if self.workloads.iter().any(|workload| workload.program.command.is_empty()) {
            return wrong("give a command to launch");
        }
        if self.workloads.is_empty() || self.pairs == 0 {
            return wrong("at least one launch is needed");
        }
        if self.others.is_empty() {
            return wrong("there is no other condition to compare with");
        }
        for (place, name) in conditions.iter().enumerate() {
            if conditions[..place].contains(name) {
                return wrong(&format!("the condition {name:?} is given twice"));
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn wrong_options_are_refused_in_one_sentence() {
        let program = Program::new(vec!["true".into()], Ready::Exit);
        let workload = Workload { name: String::new(), program, times_itself: false };
        let named = |name: &str| Condition { name: name.to_owned(), ..Condition::default() };
        let good = Options {
            workloads: vec![workload],
            baseline: named("as is"),
            others: vec![named("b")],
            is_alone: false,
            pairs: 1,
            warm_up: 0,
            pause: Nanos::ZERO,
            wake_every: Nanos::ZERO,
            timeout: Nanos::from_millis(1),
            energy_window: Nanos::from_millis(1),
            drop_caches: false,
            means: ReadyMeans::default(),
        };
        assert!(good.check().is_ok());
        let says = |options: Options| options.check().unwrap_err().to_string();
        let twice = vec![named("b"), named("as is")];
        assert_eq!(
            says(Options { others: twice, ..good.clone() }),
            "the condition \"as is\" is given twice"
        );
        assert!(
            says(Options { others: Vec::new(), ..good.clone() }).contains("no other condition")
        );
        assert!(says(Options { pairs: 0, ..good.clone() }).contains("at least one launch"));
        let mut empty = good;
        empty.workloads[0].program.command.clear();
        assert!(says(empty).contains("give a command"));
    }
}
