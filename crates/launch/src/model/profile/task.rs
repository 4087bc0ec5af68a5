//! Tasks: threads that compute and sleep in steps.

use std::fmt;

use unjank_host::Nanos;

/// One step of a task.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Step {
    /// Computes for this time at the highest frequency, and longer at others.
    Run(Nanos),
    /// Computes for this time at any frequency.
    Runtime(Nanos),
    /// Sleeps.
    Sleep(Nanos),
    /// Sleeps until this time after the timer's last expiry; not at all if that
    /// is past.
    Timer(Nanos),
}

/// The event with which a task begins.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Begins {
    /// Long before the launch: background.
    AtStart,
    /// With the launch.
    AtLaunch,
}

/// Threads with the same steps.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Task {
    /// Its name.
    pub name: String,
    /// Number of threads.
    pub threads: usize,
    /// The event with which it begins.
    pub begins: Begins,
    /// Delay after that event.
    pub delay: Nanos,
    /// Repetitions of the steps; `None` for endless.
    pub times: Option<u32>,
    /// Its steps, in order.
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

/// As in a profile: `run 100.0 ms`.
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
