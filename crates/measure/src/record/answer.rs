//! The answer of a verdict.

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
    /// The whole interval of the difference lies within the smallest difference
    /// that matters.
    Same,
    /// The good answer to a question that is about neither health nor a difference.
    /// Such questions are worded so that `yes` is what the user hopes for.
    Yes,
    /// The bad answer to such a question.
    No,
    /// The data does not decide the question.
    CannotTell,
    /// Nothing could be measured here.
    NotAvailable,
}

impl Answer {
    /// The answer in plain words: `cannot tell`.
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
