//! What can go wrong with a virtual phone.

use unjank_host::{ErrorClass, Nanos};

use crate::channel::Violation;

/// The result of everything in this crate that can fail.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// A phone that could not be built, or did not do what it was told.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// A request to this machine's kernel failed, or one that cannot work.
    #[error(transparent)]
    Host(#[from] unjank_host::Error),
    /// The guest's run store could not be read.
    #[error(transparent)]
    Measure(#[from] unjank_measure::Error),
    /// A profile of P-states is wrong.
    #[error("profile {origin}: {reason}")]
    Profile {
        /// The file or the name it was asked for by.
        origin: String,
        /// What is wrong with it.
        reason: String,
    },
    /// A program that unjank starts has failed.
    #[error("{program} failed: {reason}")]
    Program {
        /// Its name.
        program: &'static str,
        /// What it said, or how it ended.
        reason: String,
    },
    /// The phone ended before its commands did: a panic of its kernel, an
    /// emulator that gave up.
    #[error("the virtual phone ended while {doing}{}", last_words(console))]
    Ended {
        /// What was going on.
        doing: &'static str,
        /// The last lines of its console.
        console: Vec<String>,
    },
    /// It took longer than it was given.
    #[error("the virtual phone was ended after {limit}, while {doing}{}", last_words(console))]
    TimedOut {
        /// How long it was given.
        limit: Nanos,
        /// What was going on.
        doing: &'static str,
        /// The last lines of its console.
        console: Vec<String>,
    },
    /// What came out of the phone is not what unjank sends.
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

fn last_words(console: &[String]) -> String {
    if console.is_empty() {
        return "; its console is empty".to_owned();
    }
    format!("; the last lines of its console:\n  {}", console.join("\n  "))
}
