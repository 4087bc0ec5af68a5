//! What a thread waited in, and what ended the wait.

use unjank_host::Timestamp;
use unjank_host::inode::FileId;
use unjank_host::sched::ThreadId;
use unjank_host::tracefs::LockFlags;

use super::origin::Origin;

/// What a thread did when it fell asleep.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Wait {
    /// The trace has no system calls of this thread.
    #[default]
    Unknown,
    /// Events of the thread's CPU were lost: it may not even have slept.
    Lost,
    /// A system call: its number and first two arguments.
    Call {
        /// By the numbers of the thread's architecture.
        number: i64,
        /// The first two arguments.
        arguments: [u64; 2],
    },
    /// A lock of the kernel, which its holder gives to the next when it is done.
    KernelLock {
        /// Its address in the kernel.
        lock: u64,
        /// The kind of lock.
        flags: LockFlags,
        /// The number of the system call in which the thread needs it, if it is in one.
        call: Option<i32>,
    },
    /// A page fault of user space.
    Fault {
        /// The address that it touched.
        address: u64,
        /// The file of the page, if it is known to be one.
        file: Option<FileId>,
    },
}

impl Wait {
    /// Whether it is the end of the thread by its own call.
    pub(super) fn is_exit(self) -> bool {
        matches!(self, Self::Call { number, .. } if number == EXIT)
    }

    /// Whether it writes to a file, which makes room for pages as well.
    pub(super) fn is_write(self) -> bool {
        const WRITES: [libc::c_long; 5] = [
            libc::SYS_write,
            libc::SYS_writev,
            libc::SYS_pwrite64,
            libc::SYS_pwritev,
            libc::SYS_pwritev2,
        ];
        self.call().is_some_and(|number| WRITES.contains(&number.into()))
    }

    /// The number of the system call.
    pub(super) fn call(self) -> Option<i32> {
        match self {
            // A number beyond this means no call.
            Self::Call { number, .. } => i32::try_from(number).ok(),
            Self::KernelLock { call, .. } => call,
            Self::Unknown | Self::Lost | Self::Fault { .. } => None,
        }
    }
}

/// Whether a system call may wait for the end of a thread: in the futex that the
/// kernel clears then (`CLONE_CHILD_CLEARTID` of `clone(2)`).
///
/// The kernel wakes these waiters without a call of the thread, and without
/// `FUTEX_PRIVATE_FLAG`, which is another futex. In its exit it also wakes those of
/// robust locks that the thread holds, if the value of the lock has `FUTEX_WAITERS`
/// (`handle_futex_death` of `kernel/futex/core.c`); the number of a thread has not.
pub(super) fn awaits_thread(number: i64, arguments: &[u64; 6]) -> bool {
    let [_, operation, value, ..] = *arguments;
    let (operation, value) = (operation as i32, value as u32);
    let is_wait = matches!(operation & libc::FUTEX_CMD_MASK, libc::FUTEX_WAIT | WAIT_BITSET);
    number == FUTEX
        && is_wait
        && operation & libc::FUTEX_PRIVATE_FLAG == 0
        && value & libc::FUTEX_WAITERS == 0
}

const WAIT_BITSET: i32 = libc::FUTEX_WAIT_BITSET;
/// The numbers of system calls on this architecture.
#[allow(clippy::unnecessary_cast, reason = "c_long has 32 bits on some machines")]
const FUTEX: i64 = libc::SYS_futex as i64;
#[allow(clippy::unnecessary_cast, reason = "c_long has 32 bits on some machines")]
const EXIT: i64 = libc::SYS_exit as i64;

/// A thread that slept at a moment, seen by other means than the trace.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Asleep {
    /// The thread.
    pub thread: ThreadId,
    /// Just after the look at it.
    pub at: Timestamp,
    /// What it slept in.
    pub wait: Wait,
}

/// The end of a wait.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Wake {
    /// The time of `sched_waking`.
    pub at: Timestamp,
    /// Who called it.
    pub by: Origin,
    /// The system call that the waker was in, if it was a thread, by its number.
    pub during: Option<i32>,
    /// Whether the waker was about to exit.
    pub exiting: bool,
    /// Whether the sleeper waited in a futex for the end of the waker, as
    /// `pthread_join` does.
    pub joined: bool,
    /// How the wake-up came from the waker, if it did not call `sched_waking`
    /// itself.
    pub carrier: Option<Carrier>,
}

/// What delivered the packet with which a thread woke another.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Carrier {
    /// When the waker sent it.
    pub sent: Timestamp,
    /// The thread in whose time it was delivered: the waker, `ksoftirqd`, or
    /// one that was interrupted.
    pub thread: ThreadId,
}
