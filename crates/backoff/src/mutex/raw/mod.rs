//! The lock: the fast paths and the release. Waiting is in `waiting.rs`.

mod waiting;

use super::learned_times::LearnedTimes;
use super::watch::Watch;
use super::word::{Release, Word};
use crate::os;
use crate::sync::{Acquire, AtomicU32, Relaxed, Release as Releasing, const_except_in_models};
use crate::ticks::Ticks;

/// A lock without a value, for [`lock_api`].
///
/// It is for the threads of one process, see [`Mutex`](crate::Mutex).
///
/// `word` says whether the lock is held and who waits; its states are in `word.rs`.
/// A sleeper that a release takes out of `asleep` there gets exactly one permit, and
/// a thread that has added itself to `overdue` gets exactly one grant. So the lock
/// stays alive until the releasing thread has given them.
///
/// The learned times are written by the holder only and are hints for waiters, so
/// all their accesses are relaxed.
pub struct RawMutex {
    word: AtomicU32,
    /// One permit for each sleeper that a release has woken.
    permits: AtomicU32,
    /// Numbers of tickets given out, and of tickets that have been granted the lock.
    tickets: AtomicU32,
    grants: AtomicU32,
    /// Number of threads that rest: they sleep without a wake-up.
    resting: AtomicU32,
    /// The latest time that a waiter has booked for its ticket, and the time of the
    /// last wake-up by a release: the lower half of ticks.
    booked: AtomicU32,
    woken_at: AtomicU32,
    learned: LearnedTimes,
}

impl RawMutex {
    const_except_in_models! {
        /// A free lock.
        #[must_use]
        pub const fn new() -> Self {
            Self {
                word: AtomicU32::new(0),
                permits: AtomicU32::new(0),
                tickets: AtomicU32::new(0),
                grants: AtomicU32::new(0),
                resting: AtomicU32::new(0),
                booked: AtomicU32::new(0),
                woken_at: AtomicU32::new(0),
                learned: LearnedTimes::new(),
            }
        }
    }

    /// Takes the lock, and waits for it if necessary.
    #[inline]
    pub fn acquire(&self) {
        if !self.take_simply() {
            self.acquire_noting();
        }
    }

    /// Takes the lock if it is free. Returns whether it did.
    #[inline]
    pub fn try_acquire(&self) -> bool {
        self.take_simply() || self.pass()
    }

    /// Whether the lock is held, at some moment during the call.
    #[inline]
    pub fn is_held(&self) -> bool {
        Word(self.word.load(Relaxed)).is_locked()
    }

    /// Releases the lock. Only the thread that holds it may call this; a call by
    /// another thread breaks exclusion.
    #[inline]
    pub fn release(&self) {
        let word = Word(self.word.load(Relaxed));
        if word.is_plain() {
            let watch = self.watch();
            self.word.store(Word::FREE.0, Releasing);
            watch.notify();
        } else if !word.is_simply_held() || !self.exchange_to_release(word, word.unlocked()) {
            self.release_noting();
        }
    }

    #[inline]
    fn take_simply(&self) -> bool {
        let word = Word(self.word.load(Relaxed));
        let is_plain = word == Word::FREE && !self.watch().is_watched();
        let held = if is_plain { Word::PLAIN } else { word.locked() };
        word.is_simply_free() && self.exchange_to_acquire(word, held)
    }

    #[inline]
    fn watch(&self) -> Watch {
        Watch::of(core::ptr::from_ref(self).addr())
    }

    /// Pairs with [`exchange_to_release`](Self::exchange_to_release).
    #[inline]
    fn exchange_to_acquire(&self, from: Word, to: Word) -> bool {
        self.word.compare_exchange(from.0, to.0, Acquire, Relaxed).is_ok()
    }

    /// Pairs with [`exchange_to_acquire`](Self::exchange_to_acquire).
    #[inline]
    fn exchange_to_release(&self, from: Word, to: Word) -> bool {
        self.word.compare_exchange(from.0, to.0, Releasing, Relaxed).is_ok()
    }

    /// Changes the bits of waiters in the word; orders nothing.
    fn exchange(&self, from: Word, to: Word) -> bool {
        debug_assert!(!from.is_plain(), "its holder would overwrite it");
        self.word.compare_exchange(from.0, to.0, Relaxed, Relaxed).is_ok()
    }

    #[inline(never)]
    fn acquire_noting(&self) {
        if !self.pass() {
            self.wait();
        }
    }

    /// Takes the lock if it is free, and notes the times that waiters ask for.
    fn pass(&self) -> bool {
        loop {
            let word = Word(self.word.load(Relaxed));
            if word.is_locked() {
                return false;
            }
            if self.exchange_to_acquire(word, word.passed()) {
                if word.is_marked() || word.is_asked() {
                    self.learned.passed(word);
                }
                return true;
            }
        }
    }

    #[inline(never)]
    fn release_noting(&self) {
        let noted = self.learned.releasing(Word(self.word.load(Relaxed)));
        loop {
            let word = Word(self.word.load(Relaxed));
            let (to, then) = word.released(noted.when);
            let to = noted.is_long.map_or(to, |long| to.with_long(long));
            if !self.exchange_to_release(word, to) {
                continue;
            }
            match then {
                Release::Nothing => {}
                Release::Wake => {
                    self.woken_at.store(Ticks::now().0 as u32, Relaxed);
                    self.permits.fetch_add(1, Relaxed);
                    os::wake(&self.permits);
                }
                Release::HandOff => self.hand_off(),
            }
            return;
        }
    }

    /// Hands the lock to the next ticket.
    fn hand_off(&self) {
        let bucket = self.bucket(self.grants.load(Relaxed));
        self.grants.fetch_add(1, Releasing);
        // From here on the lock may be gone, so it cannot be checked for sleepers.
        bucket.wake();
    }
}

impl Default for RawMutex {
    fn default() -> Self {
        Self::new()
    }
}

// SAFETY: `acquire` and a successful `try_acquire` return to one thread at a
// time: they end with an exchange that sets LOCKED in a word without it, or
// with a grant. A grant is given by the holder instead of clearing LOCKED, to
// the one ticket of that number (`word.rs` has the table).
#[cfg(not(loom))]
#[allow(unsafe_code)]
unsafe impl lock_api::RawMutex for RawMutex {
    #[allow(clippy::declare_interior_mutable_const)]
    const INIT: Self = Self::new();

    type GuardMarker = lock_api::GuardSend;

    #[inline]
    fn lock(&self) {
        self.acquire();
    }

    #[inline]
    fn try_lock(&self) -> bool {
        self.try_acquire()
    }

    // Only the holder calls this, which is what `release` asks for.
    #[inline]
    unsafe fn unlock(&self) {
        self.release();
    }

    #[inline]
    fn is_locked(&self) -> bool {
        self.is_held()
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn it_is_as_large_as_documented() {
        assert_eq!(size_of::<RawMutex>(), 56);
    }

    #[test]
    fn it_is_tried_and_released() {
        let lock = RawMutex::default();
        assert!(lock.try_acquire() && lock.is_held() && !lock.try_acquire());
        lock.release();
        assert!(!lock.is_held());
        lock.acquire();
        lock.release();
        assert_eq!(lock.word.load(Relaxed), 0);
    }

    /// Other tests share the lock's slot, so this waits until no thread watches it.
    fn begin_plain_section(lock: &RawMutex) {
        crate::mutex::allow_plain_sections();
        loop {
            lock.acquire();
            if Word(lock.word.load(Relaxed)).is_plain() {
                return;
            }
            lock.release();
            std::thread::yield_now();
        }
    }

    #[test]
    #[cfg_attr(miri, ignore = "Miri does not know membarrier(2): no section is plain")]
    fn a_waiter_beside_a_plain_section_gets_the_lock() {
        let lock = RawMutex::new();
        for pause in [0, 1, 10, 2_000, 20_000] {
            begin_plain_section(&lock);
            std::thread::scope(|scope| {
                scope.spawn(|| {
                    lock.acquire();
                    lock.release();
                });
                std::thread::sleep(core::time::Duration::from_micros(pause));
                assert!(Word(lock.word.load(Relaxed)).is_plain(), "only the holder ends it");
                lock.release();
            });
        }
    }

    /// When all threads have ended, no state is left that affects a later wait.
    #[test]
    fn nothing_is_left_behind() {
        let lock = RawMutex::new();
        std::thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| {
                    for _ in 0..if cfg!(miri) { 20 } else { 5_000 } {
                        lock.acquire();
                        std::thread::yield_now();
                        lock.release();
                    }
                });
            }
        });
        let word = Word(lock.word.load(Relaxed));
        assert_eq!((word.asleep(), word.overdue()), (0, 0));
        assert!(!word.is_locked() && !word.has_searcher(), "{word:?}");
        assert_eq!(lock.permits.load(Relaxed), 0);
        assert_eq!(lock.tickets.load(Relaxed), lock.grants.load(Relaxed));
        assert_eq!(lock.resting.load(Relaxed), 0);
    }
}
