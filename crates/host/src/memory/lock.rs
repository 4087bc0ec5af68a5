//! Keeping this process in memory: `mlockall(2)`.

use rustix::mm::{MlockAllFlags, mlockall, munlockall};

use crate::error::Error;
use crate::support::Support;

/// Keeps every page of this process that is in use in memory until dropped,
/// so a measuring thread never waits for one of its own. Pages that were
/// never touched are not brought in (`MCL_ONFAULT`).
#[derive(Debug)]
pub struct MemoryLock(());

impl MemoryLock {
    /// Locks, if this user may.
    pub fn everything() -> Support<Self> {
        let flags = MlockAllFlags::CURRENT | MlockAllFlags::FUTURE | MlockAllFlags::ONFAULT;
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
