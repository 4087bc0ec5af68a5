//! The answer to a question.

use serde::{Deserialize, Serialize};

/// The answer to a verdict's question.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Answer {
    /// The whole interval lies within the healthy range.
    Healthy,
    /// The whole interval lies outside the healthy range.
    Slow,
    /// The second arm or run is better, beyond its interval.
    Better,
    /// The second arm or run is worse, beyond its interval.
    Worse,
    /// The second arm or run differs by less than what matters, and its
    /// interval leaves room for no more.
    Same,
    /// The answer to a question that is about neither health nor a difference.
    Yes,
    /// The opposite.
    No,
    /// The data does not decide it.
    CannotTell,
    /// Nothing could be measured here.
    NotAvailable,
}

impl Answer {
    /// In plain words: `cannot tell`.
    pub fn words(self) -> &'static str {
        match self {
            Self::Healthy => "healthy",
            Self::Slow => "slow",
            Self::Better => "better",
            Self::Worse => "worse",
            Self::Same => "no meaningful difference",
            Self::Yes => "yes",
            Self::No => "no",
            Self::CannotTell => "cannot tell",
            Self::NotAvailable => "n/a",
        }
    }
}
