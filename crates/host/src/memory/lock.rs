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
