//! Tasks: threads that compute and sleep.

use std::fmt;

use unjank_host::Nanos;

/// One thing that a task does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Step {
    /// Computes for so long at the highest frequency, and longer at others.
    Run(Nanos),
    /// Computes for so long at any frequency.
    Runtime(Nanos),
    /// Sleeps.
    Sleep(Nanos),
    /// Sleeps until this long after it last was woken so; not at all if that
    /// is past.
    Timer(Nanos),
}

/// When a task begins.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Begins {
    /// At the beginning, long before the launch: background.
    AtStart,
    /// With the launch.
    AtLaunch,
}

/// Threads that do the same.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Task {
    /// Its name.
    pub name: String,
    /// How many threads it has.
    pub threads: usize,
    /// When it begins.
    pub begins: Begins,
    /// How long after that.
    pub delay: Nanos,
    /// How often the steps are done; `None` for ever.
    pub times: Option<u32>,
    /// What it does.
    pub steps: Vec<Step>,
}

impl Step {
    /// The time in it.
    pub fn length(self) -> Nanos {
        match self {
            Self::Run(length)
            | Self::Runtime(length)
            | Self::Sleep(length)
            | Self::Timer(length) => length,
        }
    }
}

/// As it stands in a profile: `run 100.0 ms`.
impl fmt::Display for Step {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let verb = match self {
            Self::Run(_) => "run",
            Self::Runtime(_) => "runtime",
            Self::Sleep(_) => "sleep",
            Self::Timer(_) => "timer",
        };
        write!(f, "{verb} {}", self.length())
    }
}
