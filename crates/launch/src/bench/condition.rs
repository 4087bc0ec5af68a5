//! Conditions of a launch: knobs, a service; the policy, memory and environment of the program.

use std::ffi::OsString;
use std::path::PathBuf;

use unjank_host::Bytes;
use unjank_host::sched::Policy;

/// What holds during a launch, from the pause before it to its end.
#[derive(Debug, Clone, Default)]
pub struct Condition {
    /// Its name: `as is`, `sampling_rate=50ms`.
    pub name: String,
    /// Knobs that are changed: files and values.
    pub knobs: Vec<(PathBuf, String)>,
    /// A program that runs meanwhile.
    pub service: Option<Service>,
    /// The policy that the launched program starts with: a real-time one, or of an ordinary one
    /// the nice value; `None` for unjank's own.
    pub policy: Option<Policy>,
    /// So much of the launched program's memory is evicted only if no other can be.
    pub memory_low: Option<Bytes>,
    /// Variables of the launched program's environment, by name, that are changed.
    pub environment: Vec<(OsString, OsString)>,
    /// Whether its files are dropped from memory before each launch.
    pub is_cold: bool,
    /// Whether this is the baseline again, to measure the noise of the machine.
    pub is_baseline: bool,
}

/// A program that runs while another is launched.
#[derive(Debug, Clone)]
pub struct Service {
    /// The program and its arguments.
    pub command: Vec<OsString>,
    /// Whether it reports that it is ready (`NOTIFY_SOCKET`), and launches wait for that.
    pub notifies: bool,
    /// Whether it is a command of unjank, whose exit codes are known.
    pub own: bool,
}

impl Condition {
    /// Whether it changes the machine, so that a session has to put something back.
    pub fn needs_session(&self) -> bool {
        !self.knobs.is_empty() || self.memory_low.is_some()
    }

    /// The same condition, called `NAME again`, to be compared with itself. It is
    /// ended and applied again like any other.
    #[must_use]
    pub fn again(&self) -> Self {
        Self { name: format!("{} again", self.name), is_baseline: true, ..self.clone() }
    }
}
