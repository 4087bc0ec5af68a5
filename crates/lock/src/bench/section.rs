//! A section that is run with a lock held, and the control, which takes none.

use unjank_host::Result;

/// A lock whose way of waiting is measured. One is made for each visit.
pub(crate) trait Section: Sync + Sized {
    /// Whether only one thread is in a section at a time. The control that has
    /// no lock says no.
    const EXCLUDES: bool = true;

    /// A free lock.
    ///
    /// # Errors
    /// `Unsupported` where this machine has no such lock.
    fn new() -> Result<Self>;

    /// Waits for the lock, runs `section`, and lets go of it.
    fn with<R>(&self, section: impl FnOnce() -> R) -> R;
}

/// No lock at all.
pub(super) struct Nothing;

impl Section for Nothing {
    const EXCLUDES: bool = false;

    fn new() -> Result<Self> {
        Ok(Self)
    }

    #[inline]
    fn with<R>(&self, section: impl FnOnce() -> R) -> R {
        section()
    }
}
