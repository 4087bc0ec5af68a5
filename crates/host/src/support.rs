//! Missing support as a result instead of an error.

use serde::{Deserialize, Serialize};

/// A feature of this machine, or the reason why it is missing.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Support<T> {
    /// It is available.
    Yes(T),
    /// It is not available, with the reason: a sentence without a full stop.
    No(String),
}

impl<T> Support<T> {
    /// A missing feature, with its reason.
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

    /// Applies `make` to the value.
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

    /// The value; a reason is recorded under the name `what`.
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

/// A measurement or option that this machine does not support.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Unsupported {
    /// The name of its series, fact or option.
    pub what: String,
    /// Why not: a sentence without a full stop.
    pub reason: String,
}
