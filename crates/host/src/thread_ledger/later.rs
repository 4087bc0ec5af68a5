//! Changes that other sessions have made to the same threads later.
//!
//! Such a session puts back what it has found: the state that the earlier session had set. So the
//! earlier one must be put back after it, whichever ends first.

use super::contents::{Contents, HeldLimit, HeldThread};
use super::file::{Claim, LedgerFile};
use crate::error::Result;
use crate::journal::state_dir::StateDir;
use crate::journal::{Obstacle, RestoreOutcome};

/// The contents of other ledgers.
#[derive(Debug, Default)]
pub(super) struct LaterChanges(Vec<Contents>);

impl LaterChanges {
    /// Reads all ledgers but `name` and those that are `done`. One that cannot be read is left
    /// out, as it is when it is put back.
    ///
    /// # Errors
    /// The state directory cannot be read.
    pub(super) fn read(state: &StateDir, name: &str, done: &[String]) -> Result<Self> {
        let names = state.journals()?;
        let others = names.iter().filter(|other| *other != name && !done.contains(other));
        let contents = others.filter_map(|other| match LedgerFile::claim(state, other).ok()? {
            Claim::Gone => None,
            Claim::Held(bytes) | Claim::Ours(_, bytes) => {
                Contents::parse(&state.journal_path(other), &bytes).ok()
            }
        });
        Ok(Self(contents.collect()))
    }

    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Why this thread must not be put back yet.
    pub(super) fn of_thread(&self, held: &HeldThread) -> Option<RestoreOutcome> {
        self.find(|other| {
            other.threads.get(&held.intent.thread).is_some_and(|it| {
                it.intent.began == held.intent.began && it.intent.at_ns > held.intent.at_ns
            })
        })
    }

    /// Why this limit must not be put back yet.
    pub(super) fn of_limit(&self, held: &HeldLimit) -> Option<RestoreOutcome> {
        self.find(|other| {
            other.limits.iter().any(|it| {
                (it.process, it.began) == (held.process, held.began) && it.at_ns > held.at_ns
            })
        })
    }

    fn find(&self, has_changed: impl Fn(&Contents) -> bool) -> Option<RestoreOutcome> {
        let later = self.0.iter().find(|other| has_changed(other))?;
        let owner = later.header.as_ref().map_or(0, |header| header.owner);
        Some(RestoreOutcome::Failed {
            reason: format!(
                "another unjank, process {owner}, has changed it since; that change must be put \
                 back first"
            ),
            obstacle: Obstacle::Busy,
        })
    }
}
