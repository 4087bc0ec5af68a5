//! The trait of all compared locks, and the control, which takes no lock.

use unjank_host::Result;

/// A lock that is measured. Each trial creates a new one.
pub(crate) trait TestedLock: Sync + Sized {
    /// Whether it excludes other threads: false for the control only.
    const EXCLUDES: bool = true;

    /// A free lock.
    ///
    /// # Errors
    /// `Unsupported` if this machine has no such lock.
    fn new() -> Result<Self>;

    /// Takes the lock, runs `section`, and releases the lock.
    fn with<R>(&self, section: impl FnOnce() -> R) -> R;
}

/// The control: no lock at all.
pub(super) struct NoLock;

impl TestedLock for NoLock {
    const EXCLUDES: bool = false;

    fn new() -> Result<Self> {
        Ok(Self)
    }

    #[inline]
    fn with<R>(&self, section: impl FnOnce() -> R) -> R {
        section()
    }
}
