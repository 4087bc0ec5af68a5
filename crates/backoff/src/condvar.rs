//! A condition variable for [`Mutex`](crate::Mutex).

use core::num::NonZeroU32;
use core::time::Duration;
#[cfg(not(loom))]
use std::time::Instant;

use crate::mutex::RawMutex;
use crate::os;
use crate::sync::{AtomicU32, Relaxed, SeqCst, const_except_in_models};

#[cfg(not(loom))]
use crate::mutex::MutexGuard;

/// Lets threads that hold a [`Mutex`](crate::Mutex) wait for a change of what it protects:
/// 8 bytes.
///
/// As with every condition variable, a wait may end without a reason: use
/// [`wait_while`](Self::wait_while). Notifying without a waiter makes no system call. A
/// waiter parks at once, because it waits for work and not for a lock; use a
/// [`Signal`](crate::Signal) for short waits.
///
/// ```
/// use unjank_backoff::{Condvar, Mutex};
///
/// static READY: Mutex<bool> = Mutex::new(false);
/// static CHANGED: Condvar = Condvar::new();
///
/// std::thread::scope(|scope| {
///     scope.spawn(|| {
///         *READY.lock() = true;
///         CHANGED.notify_one();
///     });
///     let mut ready = READY.lock();
///     CHANGED.wait_while(&mut ready, |ready| !*ready);
/// });
/// ```
pub struct Condvar {
    /// Counts notifications while a thread was waiting.
    events: AtomicU32,
    /// Threads between the start of a wait and its end.
    waiting: AtomicU32,
}

impl Condvar {
    const_except_in_models! {
        /// A condition variable without waiters.
        #[must_use]
        pub const fn new() -> Self {
            Self { events: AtomicU32::new(0), waiting: AtomicU32::new(0) }
        }
    }

    /// Releases the mutex, waits for a notification, and takes the mutex.
    #[cfg(not(loom))]
    pub fn wait<T: ?Sized>(&self, guard: &mut MutexGuard<'_, T>) {
        let seen = self.begin();
        MutexGuard::unlocked(guard, || self.sleep(seen, None));
        self.end();
    }

    /// Like [`wait`](Self::wait), with a time limit. Returns whether it ended before that.
    #[cfg(not(loom))]
    pub fn wait_for<T: ?Sized>(&self, guard: &mut MutexGuard<'_, T>, at_most: Duration) -> bool {
        let begun = Instant::now();
        let seen = self.begin();
        MutexGuard::unlocked(guard, || self.sleep(seen, Some(at_most)));
        self.end();
        begun.elapsed() < at_most
    }

    /// Waits for as long as `condition` is true for the data that the mutex protects.
    #[cfg(not(loom))]
    pub fn wait_while<T: ?Sized>(
        &self,
        guard: &mut MutexGuard<'_, T>,
        mut condition: impl FnMut(&mut T) -> bool,
    ) {
        while condition(guard) {
            self.wait(guard);
        }
    }

    /// Like [`wait_while`](Self::wait_while), with a time limit. Returns whether the
    /// condition is false now.
    #[cfg(not(loom))]
    pub fn wait_while_for<T: ?Sized>(
        &self,
        guard: &mut MutexGuard<'_, T>,
        mut condition: impl FnMut(&mut T) -> bool,
        at_most: Duration,
    ) -> bool {
        let begun = Instant::now();
        loop {
            if !condition(guard) {
                return true;
            }
            let left = at_most.saturating_sub(begun.elapsed());
            if left.is_zero() {
                return false;
            }
            self.wait_for(guard, left);
        }
    }

    /// Like [`wait`](Self::wait), for a lock without a value.
    pub fn wait_raw(&self, lock: &RawMutex) {
        let seen = self.begin();
        lock.release();
        self.sleep(seen, None);
        lock.acquire();
        self.end();
    }

    /// Wakes one waiting thread, if there is one.
    #[inline]
    pub fn notify_one(&self) {
        if self.waiting.load(SeqCst) > 0 {
            self.events.fetch_add(1, SeqCst);
            os::wake(&self.events);
        }
    }

    /// Wakes all waiting threads.
    #[inline]
    pub fn notify_all(&self) {
        if self.waiting.load(SeqCst) > 0 {
            self.events.fetch_add(1, SeqCst);
            os::wake_all(&self.events, NonZeroU32::MAX);
        }
    }

    /// Called with the mutex held. A thread that takes the mutex and notifies sees
    /// `waiting`, and changes the `events` that are read here.
    fn begin(&self) -> u32 {
        self.waiting.fetch_add(1, SeqCst);
        self.events.load(SeqCst)
    }

    fn sleep(&self, seen: u32, at_most: Option<Duration>) {
        match at_most {
            None => os::wait(&self.events, seen, NonZeroU32::MAX),
            Some(at_most) => os::wait_for(&self.events, seen, at_most),
        }
    }

    fn end(&self) {
        self.waiting.fetch_sub(1, Relaxed);
    }
}

impl Default for Condvar {
    fn default() -> Self {
        Self::new()
    }
}

impl core::fmt::Debug for Condvar {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_struct("Condvar")
            .field("waiting", &self.waiting.load(Relaxed))
            .finish_non_exhaustive()
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;
    use crate::Mutex;
    use std::collections::VecDeque;
    use std::thread;

    #[test]
    fn all_that_is_sent_arrives() {
        let sent = if cfg!(miri) { 20 } else { 10_000 };
        let queue = Mutex::new(VecDeque::new());
        let filled = Condvar::new();
        thread::scope(|scope| {
            let receivers: std::vec::Vec<_> = (0..3)
                .map(|_| {
                    scope.spawn(|| {
                        let mut sum = 0_u64;
                        loop {
                            let mut items = queue.lock();
                            filled.wait_while(&mut items, |items| items.is_empty());
                            match items.pop_front() {
                                Some(0) | None => return sum,
                                Some(item) => sum += item,
                            }
                        }
                    })
                })
                .collect();
            for item in (1..=sent).chain([0, 0, 0]) {
                queue.lock().push_back(item);
                filled.notify_one();
            }
            let sum: u64 = receivers.into_iter().map(|receiver| receiver.join().unwrap()).sum();
            assert_eq!(sum, sent * (sent + 1) / 2);
        });
    }

    #[test]
    fn a_wait_ends_by_itself() {
        let mutex = Mutex::new(());
        let never = Condvar::default();
        let mut guard = mutex.lock();
        assert!(!never.wait_for(&mut guard, Duration::from_millis(1)));
        assert!(!never.wait_while_for(&mut guard, |()| true, Duration::from_millis(1)));
        assert!(never.wait_while_for(&mut guard, |()| false, Duration::ZERO));
        assert_eq!(never.waiting.load(Relaxed), 0);
    }

    #[test]
    fn a_panic_leaves_no_waiter_behind() {
        let mutex = Mutex::new(0);
        let never = Condvar::new();
        let waited = std::panic::catch_unwind(core::panic::AssertUnwindSafe(|| {
            never.wait_while(&mut mutex.lock(), |_| panic!("the condition"));
        }));
        assert!(waited.is_err());
        assert_eq!(never.waiting.load(Relaxed), 0);
        assert!(!mutex.is_locked());
    }
}
