//! Waits of threads: the call, page fault or lock, and the wake-up that ended them.

use unjank_host::Timestamp;
use unjank_host::inode::FileId;
use unjank_host::sched::ThreadId;
use unjank_host::tracefs::LockFlags;

use super::origin::Origin;

/// The call, page fault or kernel lock in which a thread sleeps.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Wait {
    /// The trace does not show in which call the thread sleeps.
    #[default]
    Unknown,
    /// Events of the thread's CPU were lost: it may not even have slept.
    Lost,
    /// It does not wait: a signal or a tracer has stopped it.
    Stopped,
    /// A system call: its number and first two arguments.
    Call {
        /// By the numbers of the thread's architecture.
        number: i64,
        /// The first two arguments.
        arguments: [u64; 2],
    },
    /// A lock of the kernel. The holder wakes the next waiter when it releases the lock.
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
    /// Whether it is `exit(2)`, with which a thread ends itself.
    pub(super) fn is_exit(self) -> bool {
        matches!(self, Self::Call { number, .. } if number == EXIT)
    }

    /// Whether it is a write to a file. Writes add pages to the page cache as well as reads.
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

    /// The number of the system call, also while it waits for a kernel lock; `None` without a call.
    pub(super) fn call(self) -> Option<i32> {
        match self {
            // A number that does not fit is not that of a call.
            Self::Call { number, .. } => i32::try_from(number).ok(),
            Self::KernelLock { call, .. } => call,
            Self::Unknown | Self::Lost | Self::Stopped | Self::Fault { .. } => None,
        }
    }
}

/// Whether a system call may wait for the end of a thread: in the futex that the kernel clears when
/// a thread ends (`CLONE_CHILD_CLEARTID` of `clone(2)`).
///
/// The kernel wakes these waiters itself, without `FUTEX_PRIVATE_FLAG`; a wait with that flag is
/// for another futex. When a thread ends, the kernel also wakes the waiters of robust locks that
/// the thread holds. The value of such a lock has the bit `FUTEX_WAITERS` (`handle_futex_death` of
/// `kernel/futex/core.c`), which no thread id has.
pub(super) fn awaits_thread(number: i64, arguments: &[u64; 6]) -> bool {
    let [_, operation, value, ..] = *arguments;
    let (operation, value) = (operation as i32, value as u32);
    let is_wait = matches!(operation & libc::FUTEX_CMD_MASK, libc::FUTEX_WAIT | WAIT_BITSET);
    number == FUTEX
        && is_wait
        && operation & libc::FUTEX_PRIVATE_FLAG == 0
        && value & libc::FUTEX_WAITERS == 0
}

/// The address of the futex whose waiters a system call wakes, if it does that.
pub(super) fn woken_futex(number: i64, arguments: &[u64; 6]) -> Option<u64> {
    const WAKES: [libc::c_int; 6] = [
        libc::FUTEX_WAKE,
        libc::FUTEX_REQUEUE,
        libc::FUTEX_CMP_REQUEUE,
        libc::FUTEX_WAKE_OP,
        libc::FUTEX_UNLOCK_PI,
        libc::FUTEX_WAKE_BITSET,
    ];
    let [futex, operation, ..] = *arguments;
    let wakes = WAKES.contains(&(operation as i32 & libc::FUTEX_CMD_MASK));
    (number == FUTEX && wakes).then_some(futex)
}

const WAIT_BITSET: i32 = libc::FUTEX_WAIT_BITSET;
/// The numbers of system calls on this architecture.
#[allow(clippy::unnecessary_cast, reason = "c_long has 32 bits on some machines")]
const FUTEX: i64 = libc::SYS_futex as i64;
#[allow(clippy::unnecessary_cast, reason = "c_long has 32 bits on some machines")]
const EXIT: i64 = libc::SYS_exit as i64;

/// A thread that was seen asleep in `/proc` during a recording.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Asleep {
    /// Its thread id (TID).
    pub thread: ThreadId,
    /// The time just after `/proc` was read.
    pub at: Timestamp,
    /// The system call in which it slept, or [`Wait::Stopped`].
    pub wait: Wait,
}

/// The end of a wait.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Wake {
    /// The time of `sched_waking`.
    pub at: Timestamp,
    /// The thread or the interrupt that woke the sleeper.
    pub by: Origin,
    /// The system call that the waker was in, if it was a thread, by its number.
    pub during: Option<i32>,
    /// Whether the waker was about to exit.
    pub exiting: bool,
    /// Whether the sleeper waited in a futex for the end of the waker, as
    /// `pthread_join` does.
    pub joined: bool,
    /// The delivery of the waker's packet, if a packet caused the wake-up.
    pub carrier: Option<Carrier>,
}

/// The delivery of a packet with which a thread woke another.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Carrier {
    /// When the waker sent it.
    pub sent: Timestamp,
    /// The current thread at the delivery: the waker, `ksoftirqd`, or an interrupted thread.
    pub thread: ThreadId,
}
