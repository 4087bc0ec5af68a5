//! Locks this process in memory: `mlockall(2)`.

use rustix::mm::{MlockAllFlags, mlockall, munlockall};

use crate::error::Error;
use crate::support::Support;

/// Locks the resident pages of this process in memory until dropped, so that a
/// measuring thread never waits for one of them. Pages that were never touched
/// are not brought in (`MCL_ONFAULT`).
#[derive(Debug)]
pub struct MemoryLock(());

impl MemoryLock {
    /// Locks the memory, if this user may.
    pub fn everything() -> Support<Self> {
        Self::lock(MlockAllFlags::CURRENT | MlockAllFlags::FUTURE | MlockAllFlags::ONFAULT)
    }

    /// As [`everything`](Self::everything), and brings in all pages, also those that were never
    /// touched, so that nothing is allocated at the first touch.
    pub fn everything_now() -> Support<Self> {
        Self::lock(MlockAllFlags::CURRENT | MlockAllFlags::FUTURE)
    }

    /// As [`everything`](Self::everything), but only what is mapped now: later mappings stay as they
    /// are.
    pub fn what_is_mapped() -> Support<Self> {
        Self::lock(MlockAllFlags::CURRENT | MlockAllFlags::ONFAULT)
    }

    fn lock(flags: MlockAllFlags) -> Support<Self> {
        match mlockall(flags) {
            Ok(()) => Support::Yes(Self(())),
            Err(error) => Support::No(format!(
                "{}; needs CAP_IPC_LOCK or a higher limit on locked memory (ulimit -l)",
                Error::syscall("mlockall", "this process", error)
            )),
        }
    }
}

impl Drop for MemoryLock {
    fn drop(&mut self) {
        // munlockall(2) has no error that applies to a process that may lock.
        let _cannot_fail = munlockall();
    }
}
