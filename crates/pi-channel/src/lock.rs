//! Lock words whose owner inherits the priority of its waiter: `futex(2)`,
//! priority-inheritance futexes.
//!
//! | word | means |
//! |---|---|
//! | 0 | free |
//! | thread number | owned by that thread, no waiters in the kernel |
//! | thread number, `FUTEX_WAITERS` | owned, and the owner must release it through the kernel |
//! | thread number, `FUTEX_OWNER_DIED` | owned, and the previous owner died while it owned it |
//!
//! Without waiters, user space alone takes and releases a word. With waiters, the
//! kernel writes it: it sets `FUTEX_WAITERS` when a wait begins, and the number of
//! the waiter when the owner releases it, so the word is never free in between.

use std::sync::atomic::{AtomicU32, Ordering};

use rustix::io::Errno;
use rustix::thread::futex::{self, Flags, OWNER_DIED};

use crate::clock::Moment;

/// The bits of a lock word that hold the owner's thread number
/// (`FUTEX_TID_MASK`).
pub(crate) const OWNER: u32 = 0x3FFF_FFFF;

/// Takes a lock if it is free; never waits. Returns whether it was free.
#[inline]
pub(crate) fn try_take(word: &AtomicU32, thread: u32) -> bool {
    // Acquire pairs with the release in `put_back`.
    word.compare_exchange(0, thread, Ordering::Acquire, Ordering::Relaxed).is_ok()
}

/// Releases a lock of the calling thread, which has the number `thread`. A waiter
/// owns it afterwards. It is an error if the word was tampered with.
#[inline]
pub(crate) fn release(word: &AtomicU32, thread: u32) -> Result<(), Errno> {
    // Release pairs with the kernel's, or the waiter's, taking of the lock.
    match word.compare_exchange(thread, 0, Ordering::Release, Ordering::Relaxed) {
        Ok(_) => Ok(()),
        Err(seen) if seen & OWNER == thread => futex::unlock_pi(word, Flags::empty()),
        Err(_) => Err(Errno::PERM),
    }
}

/// Releases a lock that [`Waiter::wait`] has taken, without the kernel.
///
/// The kernel leaves `FUTEX_WAITERS` set when it passes a lock on, and the bit may
/// only be cleared if no thread waits. Of a lane's two threads, one waits and the
/// other only tries, so after its own wait the first one knows that.
#[inline]
pub(crate) fn put_back(word: &AtomicU32) {
    // Release pairs with the acquire in `try_take`.
    word.store(0, Ordering::Release);
}

/// The result of a wait for a lock.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum WaitOutcome {
    /// The calling thread owns it.
    Taken {
        /// Whether the previous owner died.
        owner_died: bool,
    },
    /// It did not become free in time.
    TimedOut,
    /// No thread has the number in the word.
    NoOwner,
    /// The owner is the calling thread, or waits for it.
    Deadlock,
    /// The kernel refuses to wait for the owner in the word.
    Refused(Errno),
}

/// The system call to wait for a lock with a time limit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Waiter {
    /// `FUTEX_LOCK_PI2`, with limits on the monotonic clock: Linux 5.14.
    Monotonic,
    /// `FUTEX_LOCK_PI`, with limits on the real-time clock, which may be set
    /// meanwhile.
    RealTime,
}

impl Waiter {
    /// `Monotonic` if this kernel has it.
    pub(crate) fn of_this_kernel() -> Self {
        // Succeeds at once on a free word if the call exists.
        match futex::lock_pi2(&AtomicU32::new(0), Flags::empty(), None) {
            Ok(()) => Self::Monotonic,
            Err(_) => Self::RealTime,
        }
    }

    /// Waits for a lock until `limit`. Its owner has this thread's priority
    /// meanwhile.
    pub(crate) fn wait(self, word: &AtomicU32, limit: Moment) -> WaitOutcome {
        let outcome = match self {
            Self::Monotonic => futex::lock_pi2(word, Flags::empty(), Some(&limit.timespec())),
            Self::RealTime => {
                let limit = limit.on_real_time_clock().timespec();
                futex::lock_pi(word, Flags::empty(), Some(&limit))
            }
        };
        match outcome {
            Ok(()) => {
                let owner_died = word.load(Ordering::Relaxed) & OWNER_DIED != 0;
                WaitOutcome::Taken { owner_died }
            }
            // EAGAIN: the owner is about to end. EINTR: not documented, handled like
            // a time-out.
            Err(Errno::TIMEDOUT | Errno::AGAIN | Errno::INTR) => WaitOutcome::TimedOut,
            Err(Errno::SRCH) => WaitOutcome::NoOwner,
            Err(Errno::DEADLK) => WaitOutcome::Deadlock,
            Err(errno) => WaitOutcome::Refused(errno),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::sync::atomic::Ordering::SeqCst;
    use std::time::Duration;

    use super::*;
    use crate::thread::number as thread;

    fn soon() -> Moment {
        Moment::now().after(Duration::from_millis(20))
    }

    /// Above the highest number that Linux gives to a thread
    /// (`PID_MAX_LIMIT`).
    const NOBODY: u32 = 0x3FFF_FFF0;

    const WAITERS: [Waiter; 2] = [Waiter::Monotonic, Waiter::RealTime];

    #[test]
    fn a_lock_without_waiters_needs_no_kernel() {
        let word = AtomicU32::new(0);
        assert!(try_take(&word, 7));
        assert!(!try_take(&word, 8));
        assert_eq!(word.load(SeqCst), 7);
        assert_eq!(release(&word, 7), Ok(()));
        assert_eq!(word.load(SeqCst), 0);
    }

    #[test]
    fn a_word_that_was_tampered_with_is_not_released() {
        let (word, me) = (AtomicU32::new(0), thread());
        for garbage in [0, 1, me ^ 1, NOBODY, u32::MAX, NOBODY | futex::WAITERS] {
            word.store(garbage, SeqCst);
            assert!(release(&word, me).is_err(), "{garbage:#x}");
        }
        // Only the bit is wrong: the kernel finds no waiter.
        word.store(me | futex::WAITERS, SeqCst);
        assert_eq!(release(&word, me), Ok(()));
        assert_eq!(word.load(SeqCst), 0);
    }

    #[test]
    fn a_wait_for_nobody_or_for_oneself_ends_at_once() {
        for waiter in WAITERS {
            let far = Moment::now().after(Duration::from_secs(3_600));
            let word = AtomicU32::new(NOBODY);
            assert_eq!(waiter.wait(&word, far), WaitOutcome::NoOwner);
            word.store(thread(), SeqCst);
            assert_eq!(waiter.wait(&word, far), WaitOutcome::Deadlock);
            word.store(0, SeqCst);
            assert_eq!(waiter.wait(&word, far), WaitOutcome::Taken { owner_died: false });
            assert_eq!(word.load(SeqCst) & OWNER, thread());
            put_back(&word);
        }
    }

    #[test]
    fn a_kernel_thread_is_not_waited_for() {
        // The kernel's second process is kthreadd, in the outermost namespace.
        let Ok(name) = std::fs::read_to_string("/proc/2/comm") else { return };
        if name.trim() == "kthreadd" {
            let refused = WaitOutcome::Refused(Errno::PERM);
            assert_eq!(Waiter::of_this_kernel().wait(&AtomicU32::new(2), soon()), refused);
        }
    }

    #[test]
    fn a_wait_ends_in_time() {
        let word = Arc::new(AtomicU32::new(thread()));
        for waiter in WAITERS {
            let shared = Arc::clone(&word);
            let other = std::thread::spawn(move || waiter.wait(&shared, soon()));
            assert_eq!(other.join().unwrap(), WaitOutcome::TimedOut);
        }
        assert_eq!(release(&word, thread()), Ok(()));
        assert_eq!(word.load(SeqCst), 0);
    }

    #[test]
    fn a_waiter_is_woken_when_the_owner_ends() {
        let word = Arc::new(AtomicU32::new(0));
        let shared = Arc::clone(&word);
        let owner = std::thread::spawn(move || {
            assert!(try_take(&shared, thread()));
            while shared.load(SeqCst) & futex::WAITERS == 0 {
                std::thread::yield_now();
            }
        });
        while word.load(SeqCst) == 0 {
            std::thread::yield_now();
        }
        let far = Moment::now().after(Duration::from_secs(60));
        let waited = Waiter::of_this_kernel().wait(&word, far);
        assert_eq!(waited, WaitOutcome::Taken { owner_died: true });
        assert_eq!(word.load(SeqCst) & OWNER, thread());
        owner.join().unwrap();
    }
}
