//! Errors of searches in a recording.

use crate::input::Stopped;

/// Why a search in a recording has no result.
#[derive(Debug, thiserror::Error)]
pub enum SearchError {
    /// The recording lacks something: a clause for the user.
    #[error("{0}")]
    Lacks(String),
    /// A stop request ended the search.
    #[error("{}", Stopped)]
    Stopped,
}

impl From<Stopped> for SearchError {
    fn from(Stopped: Stopped) -> Self {
        Self::Stopped
    }
}

impl SearchError {
    /// The recording lacks something.
    pub fn lacks(what: impl Into<String>) -> Self {
        Self::Lacks(what.into())
    }
}
