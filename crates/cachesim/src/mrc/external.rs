//! A policy that is not part of this crate: one in another program, for example.

use std::fmt;

use crate::page::{Page, Space};

/// Simulates a cache under a policy of its own.
pub trait ExternalPolicy: Send + Sync {
    /// Its name, as users choose it.
    fn name(&self) -> &str;

    /// The misses of an empty cache; `None` if `stop` returned true.
    ///
    /// # Errors
    ///
    /// What went wrong, in a sentence for the user.
    fn misses(
        &self,
        space: Space,
        requests: &mut dyn Iterator<Item = Page>,
        stop: &dyn Fn() -> bool,
    ) -> Result<Option<u64>, String>;
}

/// A policy that lives until the process ends.
#[derive(Clone, Copy)]
pub struct External(&'static dyn ExternalPolicy);

impl External {
    /// A policy for the rest of the process's life.
    pub fn new(policy: impl ExternalPolicy + 'static) -> Self {
        Self(Box::leak(Box::new(policy)))
    }

    /// The policy.
    pub fn policy(self) -> &'static dyn ExternalPolicy {
        self.0
    }
}

impl PartialEq for External {
    fn eq(&self, other: &Self) -> bool {
        self.0.name() == other.0.name()
    }
}

impl Eq for External {}

impl fmt::Debug for External {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("External").field(&self.0.name()).finish()
    }
}
