//! Lock words whose waiter lends its priority to the owner: `futex(2)`,
//! priority-inheritance futexes.
//!
//! | word | means |
//! |---|---|
//! | 0 | free |
//! | thread number | owned by that thread, nobody waits in the kernel |
//! | thread number, `FUTEX_WAITERS` | owned, and the owner lets go through the kernel |
//! | thread number, `FUTEX_OWNER_DIED` | owned, and whoever owned it before died as its owner |
//!
//! A free word is taken and an owned one let go by user space alone, as long
//! as nobody waits. The kernel writes a word when somebody waits: it sets
//! `FUTEX_WAITERS` when a wait begins, and the number of the waiter when the
//! owner lets go, so that the word is never free in between.

use std::sync::atomic::{AtomicU32, Ordering};

use rustix::io::Errno;
use rustix::thread::futex::{self, Flags, OWNER_DIED};

use crate::clock::Moment;

/// The bits of a lock word that hold the owner's thread number
/// (`FUTEX_TID_MASK`).
pub(crate) const OWNER: u32 = 0x3FFF_FFFF;

/// Takes a free lock; never waits. Whether it was free.
#[inline]
pub(crate) fn try_take(word: &AtomicU32, thread: u32) -> bool {
    // Acquire pairs with the release in `put_back`.
    word.compare_exchange(0, thread, Ordering::Acquire, Ordering::Relaxed).is_ok()
}

/// Lets go of a lock of the calling thread, which has number `thread`. A
/// waiter owns it then. An error says that the word was tampered with.
#[inline]
pub(crate) fn release(word: &AtomicU32, thread: u32) -> Result<(), Errno> {
    // Release pairs with the kernel's, or the waiter's, taking of the lock.
    match word.compare_exchange(thread, 0, Ordering::Release, Ordering::Relaxed) {
        Ok(_) => Ok(()),
        Err(seen) if seen & OWNER == thread => futex::unlock_pi(word, Flags::empty()),
        Err(_) => Err(Errno::PERM),
    }
}

/// Lets go of a lock that [`wait`] has taken, without the kernel.
///
/// The kernel leaves `FUTEX_WAITERS` set when it passes a lock on. Nobody may
/// clear that bit who does not know that nobody waits. Of a lane's two
/// threads one waits and the other only tries, so the one that has just
/// stopped waiting knows.
#[inline]
pub(crate) fn put_back(word: &AtomicU32) {
    // Release pairs with the acquire in `try_take`.
    word.store(0, Ordering::Release);
}

/// How a wait for a lock ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Waited {
    /// The calling thread owns it.
    Taken {
        /// Whether it does because the last owner has died.
        owner_died: bool,
    },
    /// It did not become free in time.
    TimedOut,
    /// The word holds the number of no thread.
    NoOwner,
    /// The owner waits for the calling thread, or is it.
    Deadlock,
    /// The kernel does not let us wait for what the word holds.
    Refused(Errno),
}

/// How to ask the kernel for a lock with a time limit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Waiter {
    /// `FUTEX_LOCK_PI2`, with limits on the monotonic clock: Linux 5.14.
    Monotonic,
    /// `FUTEX_LOCK_PI`, with limits on the real-time clock, which somebody
    /// may set meanwhile.
    RealTime,
}

impl Waiter {
    /// The better one of those that this kernel has.
    pub(crate) fn of_this_kernel() -> Self {
        // A free word of our own: taken at once where the request exists.
        match futex::lock_pi2(&AtomicU32::new(0), Flags::empty(), None) {
            Ok(()) => Self::Monotonic,
            Err(_) => Self::RealTime,
        }
    }

    /// Waits for a lock until `limit`, lending this thread's priority to its
    /// owner meanwhile.
    pub(crate) fn wait(self, word: &AtomicU32, limit: Moment) -> Waited {
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
                Waited::Taken { owner_died }
            }
            // EAGAIN: the owner is about to end. EINTR: not documented, and
            // as harmless as a time-out.
            Err(Errno::TIMEDOUT | Errno::AGAIN | Errno::INTR) => Waited::TimedOut,
            Err(Errno::SRCH) => Waited::NoOwner,
            Err(Errno::DEADLK) => Waited::Deadlock,
            Err(errno) => Waited::Refused(errno),
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
    fn a_free_lock_is_taken_and_let_go_without_the_kernel() {
        let word = AtomicU32::new(0);
        assert!(try_take(&word, 7));
        assert!(!try_take(&word, 8));
        assert_eq!(word.load(SeqCst), 7);
        assert_eq!(release(&word, 7), Ok(()));
        assert_eq!(word.load(SeqCst), 0);
    }

    #[test]
    fn a_word_that_was_tampered_with_is_not_let_go() {
        let (word, me) = (AtomicU32::new(0), thread());
        for garbage in [0, 1, me ^ 1, NOBODY, u32::MAX, NOBODY | futex::WAITERS] {
            word.store(garbage, SeqCst);
            assert!(release(&word, me).is_err(), "{garbage:#x}");
        }
        // Only the bit is wrong: the kernel finds nobody who waits.
        word.store(me | futex::WAITERS, SeqCst);
        assert_eq!(release(&word, me), Ok(()));
        assert_eq!(word.load(SeqCst), 0);
    }

    #[test]
    fn a_wait_for_nobody_or_for_oneself_ends_at_once() {
        for waiter in WAITERS {
            let far = Moment::now().after(Duration::from_secs(3_600));
            let word = AtomicU32::new(NOBODY);
            assert_eq!(waiter.wait(&word, far), Waited::NoOwner);
            word.store(thread(), SeqCst);
            assert_eq!(waiter.wait(&word, far), Waited::Deadlock);
            word.store(0, SeqCst);
            assert_eq!(waiter.wait(&word, far), Waited::Taken { owner_died: false });
            assert_eq!(word.load(SeqCst) & OWNER, thread());
            put_back(&word);
        }
    }

    #[test]
    fn a_kernel_thread_is_not_waited_for() {
        // The kernel's second process is kthreadd, in the outermost namespace.
        let Ok(name) = std::fs::read_to_string("/proc/2/comm") else { return };
        if name.trim() == "kthreadd" {
            let refused = Waited::Refused(Errno::PERM);
            assert_eq!(Waiter::of_this_kernel().wait(&AtomicU32::new(2), soon()), refused);
        }
    }

    #[test]
    fn a_wait_ends_in_time() {
        let word = Arc::new(AtomicU32::new(thread()));
        for waiter in WAITERS {
            let shared = Arc::clone(&word);
            let other = std::thread::spawn(move || waiter.wait(&shared, soon()));
            assert_eq!(other.join().unwrap(), Waited::TimedOut);
        }
        assert_eq!(release(&word, thread()), Ok(()));
        assert_eq!(word.load(SeqCst), 0);
    }

    #[test]
    fn who_waits_when_the_owner_ends_is_told() {
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
        assert_eq!(waited, Waited::Taken { owner_died: true });
        assert_eq!(word.load(SeqCst) & OWNER, thread());
        owner.join().unwrap();
    }
}
