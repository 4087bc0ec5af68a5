//! The state that a session shares with its guards.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::session_state::SessionState;

#[derive(Debug, Clone)]
pub(super) struct SharedState(Arc<Mutex<SessionState>>);

impl SharedState {
    pub(super) fn new(holding: SessionState) -> Self {
        Self(Arc::new(Mutex::new(holding)))
    }

    /// Ignores poisoning: after a panic in a guard the journal is still correct,
    /// and putting changes back matters most.
    pub(super) fn lock(&self) -> MutexGuard<'_, SessionState> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
