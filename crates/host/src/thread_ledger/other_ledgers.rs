//! The ledgers of other sessions, which may have changed the same threads.
//!
//! The session that has changed a thread later puts back what it has found: the state that the
//! earlier one had set. So the earlier one must be put back after it, whichever ends first.

use super::contents::{Contents, HeldLimit, HeldThread};
use super::file::{Claim, LedgerFile};
use super::over::Over;
use crate::error::Result;
use crate::journal::RestoreOutcome;
use crate::journal::state_dir::StateDir;

/// The other ledgers of a state directory.
#[derive(Debug, Default)]
pub(super) struct OtherLedgers(Vec<OtherLedger>);

#[derive(Debug)]
struct OtherLedger {
    contents: Contents,
    /// Whether its session lives.
    is_live: bool,
}

impl OtherLedgers {
    /// Reads all ledgers but `name`, without changes that are `over`. The caller has the lock of the
    /// state directory. A ledger that cannot be read is left out.
    ///
    /// # Errors
    /// The state directory cannot be read.
    pub(super) fn read(state: &StateDir, name: &str, over: &Over) -> Result<Self> {
        let names = state.journals()?;
        let others = names.iter().filter(|other| *other != name);
        let read = |other: &String| {
            let (bytes, is_live) = match LedgerFile::claim(state, other).ok()? {
                Claim::Gone => return None,
                Claim::Held(bytes) => (bytes, true),
                Claim::Ours(_, bytes) => (bytes, false),
            };
            let mut contents = Contents::parse(&state.journal_path(other), &bytes).ok()?;
            over.remove_from(other, &mut contents);
            Some(OtherLedger { contents, is_live })
        };
        Ok(Self(others.filter_map(read).collect()))
    }

    /// Whether a session that has ended holds a thread or a limit of `contents`.
    pub(super) fn have_ended_with(&self, contents: &Contents) -> bool {
        let shares = |other: &Contents| {
            other.threads.keys().any(|thread| contents.threads.contains_key(thread))
                || other.limits.iter().any(|limit| contents.holds_limit_of(limit.process))
        };
        self.0.iter().any(|other| !other.is_live && shares(&other.contents))
    }

    /// Whether a session holds the limit of this process.
    pub(super) fn hold_limit_of(&self, process: u32) -> bool {
        self.0.iter().any(|other| other.contents.holds_limit_of(process))
    }

    /// Why this thread must not be put back yet.
    pub(super) fn later_than_thread(&self, held: &HeldThread) -> Option<RestoreOutcome> {
        self.find(|other| {
            other.threads.get(&held.intent.thread).is_some_and(|it| {
                it.intent.began == held.intent.began && it.intent.at_ns > held.intent.at_ns
            })
        })
    }

    /// Why this limit must not be put back yet.
    pub(super) fn later_than_limit(&self, held: &HeldLimit) -> Option<RestoreOutcome> {
        self.find(|other| {
            other.limits.iter().any(|it| {
                (it.process, it.began) == (held.process, held.began) && it.at_ns > held.at_ns
            })
        })
    }

    fn find(&self, is_later: impl Fn(&Contents) -> bool) -> Option<RestoreOutcome> {
        let OtherLedger { contents, is_live } =
            self.0.iter().find(|other| is_later(&other.contents))?;
        let owner = contents.header.as_ref().map_or(0, |header| header.owner);
        let what = if *is_live {
            "has changed it since, and puts back both when it ends"
        } else if contents.was_cut_off() {
            "has changed it since and was killed; unjank restore puts back both"
        } else {
            "has changed it since with --keep; unjank rt restore puts back both"
        };
        let reason = format!("another unjank, process {owner}, {what}");
        Some(RestoreOutcome::Waits { reason })
    }
}
