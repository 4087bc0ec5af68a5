//! Ways to keep a periodic wake-up in time beside a garbage collector.

use std::fmt;
use std::str::FromStr;

use unjank_host::sched::{Policy, Priority};
use unjank_host::{Error, Result};

use crate::rt::Profile;

/// The profile of `unjank rt` for the threads of collector and VM.
const PROFILE: &str = "jvm-inversion-aware";

/// The threads that are real-time.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Variant {
    /// None: everything is `SCHED_OTHER`.
    Normal,
    /// Every thread of the process at one priority: the starting point of
    /// Higashiyama et al.
    WholeProcess,
    /// Only the measuring thread: the remedy of Higashiyama et al.
    Thread,
    /// The measuring thread, and at a lower priority the collector's workers. The
    /// VM thread has the best nice value. The measuring thread waits for these at
    /// safepoints.
    InversionAware,
    /// The wake-ups are in another process: future work in the paper.
    Process,
    /// The wake-ups are on a native thread, which the collector cannot stop:
    /// future work in the paper.
    Native,
}

impl Variant {
    /// All of them.
    pub const ALL: [Self; 6] = [
        Self::Normal,
        Self::WholeProcess,
        Self::Thread,
        Self::InversionAware,
        Self::Process,
        Self::Native,
    ];

    /// Whether any thread is real-time.
    pub fn is_realtime(self) -> bool {
        self != Self::Normal
    }

    /// The value of the application's option `--variant`.
    pub fn application_option(self) -> &'static str {
        match self {
            Self::Normal | Self::WholeProcess | Self::InversionAware => "normal",
            Self::Thread => "thread",
            Self::Process => "process",
            Self::Native => "native",
        }
    }

    /// The policy that `unjank` gives to a thread of the JVM; `None` if it does
    /// not change the thread. The measuring thread is called `meas`.
    pub fn policy_of(self, thread: &str, priorities: Priorities) -> Option<Policy> {
        match self {
            Self::WholeProcess => Some(Policy::Fifo(priorities.measuring)),
            Self::InversionAware if thread == "meas" => Some(Policy::Fifo(priorities.measuring)),
            Self::InversionAware => match Profile::named(PROFILE)?.policy_of(thread).ok()?? {
                Policy::Fifo(_) => Some(Policy::Fifo(priorities.vm)),
                ordinary => Some(ordinary),
            },
            _ => None,
        }
    }
}

/// Real-time priorities of a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Priorities {
    /// Priority of the measuring thread, and of `WholeProcess`.
    pub measuring: Priority,
    /// Priority of the collector's workers with `InversionAware`.
    pub vm: Priority,
}

impl fmt::Display for Variant {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Normal => "normal",
            Self::WholeProcess => "whole-process",
            Self::Thread => "thread",
            Self::InversionAware => "inversion-aware",
            Self::Process => "process",
            Self::Native => "native",
        })
    }
}

impl FromStr for Variant {
    type Err = Error;

    fn from_str(typed: &str) -> Result<Self> {
        super::one_of(&Self::ALL, "variant", typed)
    }
}

#[cfg(test)]
mod tests {
    use unjank_host::sched::Fair;

    use super::*;

    #[test]
    fn each_variant_raises_what_it_says() {
        let priorities =
            Priorities { measuring: Priority::new(80).unwrap(), vm: Priority::new(70).unwrap() };
        let fifo = |priority| Some(Policy::Fifo(Priority::new(priority).unwrap()));
        let of = |variant: Variant, thread| variant.policy_of(thread, priorities);
        assert_eq!(of(Variant::WholeProcess, "load-0"), fifo(80));
        assert_eq!(of(Variant::InversionAware, "meas"), fifo(80));
        for thread in ["GC Thread#0", "RuntimeWorker#0"] {
            assert_eq!(of(Variant::InversionAware, thread), fifo(70), "{thread}");
        }
        let slice = Some(Fair::SHORTEST);
        let first = Some(Policy::Other(Fair { nice: -20, slice }));
        assert_eq!(of(Variant::InversionAware, "VM Thread"), first);
        assert_eq!(of(Variant::InversionAware, "C2 CompilerThre"), None);
        assert_eq!(of(Variant::Native, "meas"), None, "the application does it");
    }

    #[test]
    fn names_parse_back() {
        for variant in Variant::ALL {
            assert_eq!(variant.to_string().parse::<Variant>().unwrap(), variant);
        }
    }
}
