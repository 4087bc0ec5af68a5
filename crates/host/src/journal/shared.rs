//! The state of a session, which its guards share.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::holding::Holding;

/// What a session and its guards have in common.
#[derive(Debug, Clone)]
pub(super) struct Shared(Arc<Mutex<Holding>>);

impl Shared {
    pub(super) fn new(holding: Holding) -> Self {
        Self(Arc::new(Mutex::new(holding)))
    }

    /// A panic while a guard was at work leaves what is written down true,
    /// and putting things back matters more than anything else.
    pub(super) fn lock(&self) -> MutexGuard<'_, Holding> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
