//! Pauses of all boosts, and the reasons for them.

use std::collections::BTreeSet;

/// Why nothing is boosted for a time.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum PauseReason {
    /// Somebody asked for it (`unjank launch boost pause`).
    Request,
    /// The user has chosen the power profile power-saver.
    PowerSaver,
}

/// The pauses at a time.
#[derive(Debug, Clone, Default)]
pub(super) struct Pauses(BTreeSet<PauseReason>);

impl Pauses {
    pub(super) fn begin(&mut self, reason: PauseReason) {
        self.0.insert(reason);
    }

    pub(super) fn end(&mut self, reason: PauseReason) {
        self.0.remove(&reason);
    }

    pub(super) fn contains(&self, reason: PauseReason) -> bool {
        self.0.contains(&reason)
    }

    /// The reason to name if there are several.
    pub(super) fn first(&self) -> Option<PauseReason> {
        self.0.first().copied()
    }
}
