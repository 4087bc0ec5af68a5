//! Errors of the virtual phone.

use unjank_host::{ErrorClass, Nanos};

use crate::channel::Violation;

/// The result of this crate's fallible functions.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// The phone could not be built, or it failed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// A request to this machine's kernel failed, or an option cannot work.
    #[error(transparent)]
    Host(#[from] unjank_host::Error),
    /// The guest's run store could not be read.
    #[error(transparent)]
    Measure(#[from] unjank_measure::Error),
    /// A profile of P-states is wrong.
    #[error("profile {origin}: {reason}")]
    Profile {
        /// The file, or the name it was requested by.
        origin: String,
        /// The first fault.
        reason: String,
    },
    /// A program that unjank started has failed.
    #[error("{program} failed: {reason}")]
    Program {
        /// Name of the program.
        program: &'static str,
        /// Its message, or its exit status.
        reason: String,
    },
    /// The phone ended before its commands: a kernel panic, or QEMU failed.
    #[error("the virtual phone ended while {doing}{}", console_tail(console))]
    Ended {
        /// The phase in which it ended.
        doing: &'static str,
        /// The last lines of its console.
        console: Vec<String>,
    },
    /// A time limit was exceeded.
    #[error("the virtual phone was stopped after {limit}, while {doing}{}", console_tail(console))]
    TimedOut {
        /// The limit, counted from the start of the phone.
        limit: Nanos,
        /// The phase in which it was ended.
        doing: &'static str,
        /// The last lines of its console.
        console: Vec<String>,
    },
    /// The phone violated the protocol.
    #[error("the virtual phone sent {0}")]
    Violation(#[from] Violation),
}

impl Error {
    /// The kind of failure.
    pub fn class(&self) -> ErrorClass {
        match self {
            Self::Host(error) => error.class(),
            Self::Measure(error) => error.class(),
            Self::Profile { .. } => ErrorClass::Usage,
            Self::Program { .. }
            | Self::Ended { .. }
            | Self::TimedOut { .. }
            | Self::Violation(_) => ErrorClass::Other,
        }
    }
}

fn console_tail(console: &[String]) -> String {
    if console.is_empty() {
        return "; its console is empty".to_owned();
    }
    format!("; the last lines of its console:\n  {}", console.join("\n  "))
}
