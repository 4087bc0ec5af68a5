//! Events of processes, and their kinds: `enum proc_cn_event` of
//! `linux/cn_proc.h`.

use crate::clock::Timestamp;

/// `PROC_EVENT_FORK`.
pub(super) const FORK: u32 = 1;
/// `PROC_EVENT_EXEC`.
pub(super) const EXEC: u32 = 2;
/// `PROC_EVENT_COMM`.
pub(super) const COMM: u32 = 0x200;
/// `PROC_EVENT_EXIT`.
pub(super) const EXIT: u32 = 0x8000_0000;

/// An event of a process. Times are the kernel's, on `CLOCK_MONOTONIC`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ProcessEvent {
    /// The process has executed a program.
    Exec {
        /// Its id: `process_tgid` of `include/uapi/linux/cn_proc.h`.
        process: u32,
        /// Time of the exec.
        at: Timestamp,
    },
    /// The process was created.
    Fork {
        /// Process id of its parent.
        parent: u32,
        /// Process id of the new process.
        child: u32,
        /// Time of the fork.
        at: Timestamp,
    },
    /// The process has ended.
    Exit {
        /// Its id: `process_tgid` of `include/uapi/linux/cn_proc.h`.
        process: u32,
        /// Time of the exit.
        at: Timestamp,
    },
}

/// Kinds of events.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct EventKinds(u32);

impl EventKinds {
    /// Only new programs.
    pub const EXEC: Self = Self(EXEC);
    /// New processes, and ended ones.
    pub const FAMILY: Self = Self(FORK | EXIT);
    /// New programs, new and ended processes, new threads and their names.
    pub const THREADS: Self = Self(EXEC | FORK | EXIT | COMM);
    /// No events.
    pub const NONE: Self = Self(0);
    /// New programs, new processes and ended ones.
    pub const ALL: Self = Self(EXEC | FORK | EXIT);

    pub(in crate::process) const fn bits(self) -> u32 {
        self.0
    }
}
