//! "Not possible here" as a result, not an error.

use serde::{Deserialize, Serialize};

/// Something this machine offers, or the reason why it does not.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Support<T> {
    /// It is there.
    Yes(T),
    /// It is not there, and why: a sentence without a full stop.
    No(String),
}

impl<T> Support<T> {
    /// A reason why something is not possible.
    pub fn no(reason: impl Into<String>) -> Self {
        Self::No(reason.into())
    }

    /// The value, if there is one.
    pub fn yes(self) -> Option<T> {
        match self {
            Self::Yes(value) => Some(value),
            Self::No(_) => None,
        }
    }

    /// The same answer about something made of the value.
    pub fn map<U>(self, make: impl FnOnce(T) -> U) -> Support<U> {
        match self {
            Self::Yes(value) => Support::Yes(make(value)),
            Self::No(reason) => Support::No(reason),
        }
    }

    /// The reason, if there is no value.
    pub fn reason(&self) -> Option<&str> {
        match self {
            Self::Yes(_) => None,
            Self::No(reason) => Some(reason),
        }
    }

    /// The value; a reason is noted under the name `what`.
    pub fn or_note(self, what: &str, unsupported: &mut Vec<Unsupported>) -> Option<T> {
        match self {
            Self::Yes(value) => Some(value),
            Self::No(reason) => {
                unsupported.push(Unsupported { what: what.to_owned(), reason });
                None
            }
        }
    }
}

/// A thing that was wanted and could not be had on this machine.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Unsupported {
    /// What was wanted, by the name its series, fact or option has.
    pub what: String,
    /// Why it could not be had.
    pub reason: String,
}
