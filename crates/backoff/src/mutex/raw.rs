//! The lock itself: what the policy decides, done to the word.

use core::num::NonZeroU32;
use core::time::Duration;

use super::bells::Bell;
use super::policy::{Action, Learned, Look, Waiter};
use super::word::{Mine, Release, Word};
use crate::ladder::Expected;
use crate::sync::{Acquire, AtomicU32, Relaxed, Release as Releasing};
use crate::ticks::Ticks;
use crate::{calibrate, hint, os};

/// A lock without a value, for [`lock_api`].
///
/// `word` says who holds the lock and who waits; its states are in `word.rs`.
/// A thread that has taken itself out of `asleep` there gets exactly one
/// permit, and one that has added itself to `overdue` exactly one grant, so
/// the lock cannot be gone before whoever releases it has given them.
///
/// What it learns is written by the holder only, and read by waiters as a
/// hint: all of that is relaxed.
pub struct RawMutex {
    word: AtomicU32,
    /// One for each sleeper that a release has woken.
    permits: AtomicU32,
    /// Tickets given out, and tickets that have held the lock.
    tickets: AtomicU32,
    grants: AtomicU32,
    /// Threads that rest: they sleep, and nobody is to wake them.
    resting: AtomicU32,
    /// The last time at which a waiter has booked to take a ticket, and the
    /// last at which a release has woken one; in ticks of which the upper half
    /// is cut off.
    booked: AtomicU32,
    woken_at: AtomicU32,
    learned: Lessons,
}

/// What the lock has learned, in ticks of which the upper half is cut off.
struct Lessons {
    gap: AtomicU32,
    held: AtomicU32,
    /// When the lock was taken, if the word is `TIMED`.
    taken_at: AtomicU32,
    /// When it was released and by whom, if somebody had asked.
    released_at: AtomicU32,
    released_by: AtomicU32,
    /// When `gap` was learned, in units of [`AGE`] ticks.
    learned_at: AtomicU32,
    /// Spins that have failed, since one succeeded.
    failures: AtomicU32,
}

/// log2 of the ticks in which the age of a lesson is counted: about a
/// microsecond.
const AGE: u32 = 12;

/// How long a waiter sleeps on where no tickets are left.
const ANOTHER_SLEEP: Duration = Duration::from_millis(100);

impl RawMutex {
    /// A free lock.
    #[cfg(not(loom))]
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
            learned: Lessons {
                gap: AtomicU32::new(0),
                held: AtomicU32::new(0),
                taken_at: AtomicU32::new(0),
                released_at: AtomicU32::new(0),
                released_by: AtomicU32::new(0),
                learned_at: AtomicU32::new(0),
                failures: AtomicU32::new(0),
            },
        }
    }

    /// A free lock: loom's atomics cannot be made at compile time.
    #[cfg(loom)]
    pub fn new() -> Self {
        Self {
            word: AtomicU32::new(0),
            permits: AtomicU32::new(0),
            tickets: AtomicU32::new(0),
            grants: AtomicU32::new(0),
            resting: AtomicU32::new(0),
            booked: AtomicU32::new(0),
            woken_at: AtomicU32::new(0),
            learned: Lessons {
                gap: AtomicU32::new(0),
                held: AtomicU32::new(0),
                taken_at: AtomicU32::new(0),
                released_at: AtomicU32::new(0),
                released_by: AtomicU32::new(0),
                learned_at: AtomicU32::new(0),
                failures: AtomicU32::new(0),
            },
        }
    }

    /// Takes the lock, and waits for it if need be.
    #[inline]
    pub fn acquire(&self) {
        if !self.take_simply() {
            self.acquire_noting();
        }
    }

    /// Takes the lock if it is free; says whether it did.
    #[inline]
    pub fn try_acquire(&self) -> bool {
        self.take_simply() || self.pass()
    }

    /// Whether somebody holds the lock, at some moment during the call.
    #[inline]
    pub fn is_held(&self) -> bool {
        Word(self.word.load(Relaxed)).is_locked()
    }

    /// Releases the lock. Only for the thread that has taken it; for any other
    /// it breaks the exclusion that others rely on.
    #[inline]
    pub fn release(&self) {
        let word = Word(self.word.load(Relaxed));
        if !word.is_simply_held() || !self.exchange_to_release(word, word.unlocked()) {
            self.release_noting();
        }
    }

    #[inline]
    fn take_simply(&self) -> bool {
        let word = Word(self.word.load(Relaxed));
        word.is_simply_free() && self.exchange_to_acquire(word, word.locked())
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

    /// Changes what waiters have put into the word, and protects nothing.
    fn exchange(&self, from: Word, to: Word) -> bool {
        self.word.compare_exchange(from.0, to.0, Relaxed, Relaxed).is_ok()
    }

    #[inline(never)]
    fn acquire_noting(&self) {
        if !self.pass() {
            self.wait();
        }
    }

    /// Takes the lock if it is free, without waiting, and notes what is asked.
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

    #[cold]
    fn wait(&self) {
        calibrate::learn_rate(false);
        let begun = Ticks::now();
        self.learned.came_back(begun);
        let learned_before = self.learned.learned_at.load(Relaxed);
        let park = calibrate::known().park;
        let mut waiter = Waiter::new(begun);
        loop {
            let word = Word(self.word.load(Relaxed));
            let now = Ticks::now();
            let look = Look {
                word,
                now,
                learned: self.learned.seen(now, learned_before, self.resting.load(Relaxed)),
                squeezed: os::was_squeezed(),
                park,
            };
            match waiter.next(&look) {
                Action::Take => {
                    if self.exchange_to_acquire(word, word.taken(waiter.mine)) {
                        self.learned.taken(word, &waiter, now);
                        return;
                    }
                }
                Action::Book => self.book(&mut waiter, &look),
                Action::Queue => {
                    let queued = word.without(waiter.mine).with_overdue();
                    if queued.is_some_and(|to| self.exchange(word, to)) {
                        self.await_grant(&waiter, park);
                        return;
                    }
                }
                Action::Search => {
                    waiter.mine.searcher |= self.exchange(word, word.with_searcher());
                }
                Action::Ask => waiter.mine.asked |= self.exchange(word, word.asked()),
                Action::CheckPriority => waiter.is_real_time = Some(os::is_real_time()),
                Action::Look { looks, pauses } => {
                    hint::look(looks, pauses, || !self.is_held());
                }
                Action::Rest(left) => {
                    let mine = waiter.mine;
                    if mine == Mine::default() || self.exchange(word, word.without(mine)) {
                        waiter.mine = Mine::default();
                        self.rest(left);
                    }
                }
                Action::Sleep(_) => {
                    if waiter.has_spun() {
                        self.learned.failed(&look);
                    }
                    if self.sleep(&mut waiter, word) {
                        return;
                    }
                }
            }
        }
    }

    fn book(&self, waiter: &mut Waiter, look: &Look) {
        let waiters = look.word.asleep() + look.learned.resting;
        let last = self.booked.load(Relaxed);
        // Two that book the same time take their tickets at the same time.
        self.booked.store(waiter.book(last, waiters, look.now), Relaxed);
    }

    /// Sleeps, known to nobody: whoever keeps the lock busy is not disturbed.
    fn rest(&self, left: Ticks) {
        self.resting.fetch_add(1, Relaxed);
        os::sleep(left.into());
        self.resting.fetch_sub(1, Relaxed);
    }

    /// Sleeps until a release wakes it, or until it is overdue. Says whether
    /// it holds the lock now.
    fn sleep(&self, waiter: &mut Waiter, word: Word) -> bool {
        os::is_squeezed();
        let Some(asleep) = word.without(waiter.mine).with_asleep() else {
            // Sixteen thousand sleep here already.
            os::sleep(ANOTHER_SLEEP);
            return false;
        };
        if !self.exchange(word, asleep) {
            return false;
        }
        waiter.mine = Mine::default();
        let mut has_slept = false;
        loop {
            if self.take_permit() {
                if has_slept {
                    let late = (Ticks::now().0 as u32).wrapping_sub(self.woken_at.load(Relaxed));
                    calibrate::observe(Ticks(u64::from(late)));
                }
                waiter.woken();
                return false;
            }
            let left = waiter.left(Ticks::now());
            if left > Ticks::ZERO {
                os::wait_for(&self.permits, 0, left.into());
                has_slept = true;
                continue;
            }
            match self.wake_up_late() {
                Late::Full => os::wait_for(&self.permits, 0, ANOTHER_SLEEP),
                Late::Taken => return true,
                Late::Queued => {
                    self.await_grant(waiter, Ticks::ZERO);
                    return true;
                }
                Late::Woken => {
                    while !self.take_permit() {
                        os::wait(&self.permits, 0, NonZeroU32::MAX);
                    }
                    waiter.woken();
                    return false;
                }
            }
        }
    }

    /// Pairs with the one that gives it in [`release_noting`](Self::release_noting).
    fn take_permit(&self) -> bool {
        self.permits.fetch_update(Relaxed, Relaxed, |permits| permits.checked_sub(1)).is_ok()
    }

    /// A sleeper whose time is up takes itself out of those asleep.
    fn wake_up_late(&self) -> Late {
        loop {
            let word = Word(self.word.load(Relaxed));
            let Some(awake) = word.without_asleep() else {
                return Late::Woken;
            };
            if !word.is_locked() {
                if self.exchange_to_acquire(word, awake.taken(Mine::default())) {
                    if word.is_marked() {
                        self.learned.released_by.store(NOBODY, Relaxed);
                    }
                    return Late::Taken;
                }
            } else if let Some(queued) = awake.with_overdue() {
                if self.exchange(word, queued) {
                    return Late::Queued;
                }
            } else {
                return Late::Full;
            }
        }
    }

    /// Waits until the lock is handed over.
    fn await_grant(&self, waiter: &Waiter, park: Ticks) {
        let ticket = self.tickets.fetch_add(1, Relaxed);
        let begun = Ticks::now();
        let budget = if waiter.is_real_time == Some(true) { Ticks::ZERO } else { park };
        let bell = self.bell(ticket);
        while !self.is_called(ticket) {
            let is_next = self.grants.load(Relaxed) == ticket;
            if is_next && begun.elapsed() < budget {
                hint::pause();
                continue;
            }
            bell.listen(|| self.is_called(ticket));
        }
    }

    /// Whether the lock has been handed to this ticket; pairs with `hand_over`.
    fn is_called(&self, ticket: u32) -> bool {
        ticket.wrapping_sub(self.grants.load(Acquire)) > u32::MAX / 2
    }

    fn bell(&self, ticket: u32) -> Bell {
        Bell::new(core::ptr::from_ref(self).addr(), ticket)
    }

    #[inline(never)]
    fn release_noting(&self) {
        let noted = self.learned.releasing(Word(self.word.load(Relaxed)));
        loop {
            let word = Word(self.word.load(Relaxed));
            let (to, then) = word.released(noted);
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
                Release::HandOver => self.hand_over(),
            }
            return;
        }
    }

    /// Lets the next ticket hold the lock.
    fn hand_over(&self) {
        let bell = self.bell(self.grants.load(Relaxed));
        self.grants.fetch_add(1, Releasing);
        // From here on the lock may be gone: whether anybody listens cannot be
        // looked up.
        bell.ring();
    }
}

/// A sleeper whose time is up.
enum Late {
    /// Eight thousand have tickets already: it sleeps on.
    Full,
    /// It has taken the lock.
    Taken,
    /// It has a ticket.
    Queued,
    /// A release has woken it just now: its permit is on the way.
    Woken,
}

/// A thread, by an address that is its own; 0 is nobody.
fn this_thread() -> u32 {
    std::thread_local! {
        static MARK: u8 = const { 0 };
    }
    MARK.with(|mark| core::ptr::from_ref(mark).addr() as u32 | 1)
}

const NOBODY: u32 = 0;

impl Lessons {
    fn seen(&self, now: Ticks, learned_before: u32, resting: u32) -> Learned {
        let learned_at = self.learned_at.load(Relaxed);
        let age = ((now.0 >> AGE) as u32).wrapping_sub(learned_at);
        Learned {
            gap: Expected(self.gap.load(Relaxed)),
            held: Expected(self.held.load(Relaxed)),
            age: Ticks(u64::from(age) << AGE),
            is_fresh: learned_at != learned_before,
            failures: self.failures.load(Relaxed),
            resting,
        }
    }

    /// The lock was taken by a thread that came by.
    fn passed(&self, word: Word) {
        let now = Ticks::now();
        if word.is_marked() {
            self.came_back(now);
            self.released_by.store(NOBODY, Relaxed);
        }
        if word.is_asked() {
            self.taken_at.store(now.0 as u32, Relaxed);
        }
    }

    /// A thread wants the lock: if it was the last to release it, that was the
    /// gap.
    fn came_back(&self, now: Ticks) {
        if self.released_by.load(Relaxed) != this_thread() {
            return;
        }
        self.released_by.store(NOBODY, Relaxed);
        let gap = (now.0 as u32).wrapping_sub(self.released_at.load(Relaxed));
        let mean = Expected(self.gap.load(Relaxed)).with(Ticks(u64::from(gap)));
        self.gap.store(mean.0, Relaxed);
        let before = self.learned_at.load(Relaxed);
        let at = (now.0 >> AGE) as u32;
        // Two lessons within a unit are two.
        self.learned_at.store(if at == before { at.wrapping_add(1) } else { at }, Relaxed);
    }

    /// The lock was taken by a waiter.
    fn taken(&self, word: Word, waiter: &Waiter, now: Ticks) {
        if waiter.mine.asked {
            self.taken_at.store(now.0 as u32, Relaxed);
        } else if word.is_marked() {
            self.released_by.store(NOBODY, Relaxed);
        }
        if waiter.has_spun() && self.failures.load(Relaxed) > 0 {
            self.failures.store(0, Relaxed);
        }
    }

    /// A spin has failed.
    fn failed(&self, look: &Look) {
        self.failures.store(look.learned.failures.saturating_add(1), Relaxed);
    }

    /// The lock is about to be released; says whether that was noted.
    fn releasing(&self, word: Word) -> bool {
        if !word.is_timed() && !word.is_asked() {
            return false;
        }
        let now = Ticks::now().0 as u32;
        if word.is_timed() {
            let held = now.wrapping_sub(self.taken_at.load(Relaxed));
            let mean = Expected(self.held.load(Relaxed)).with(Ticks(u64::from(held)));
            self.held.store(mean.0, Relaxed);
        }
        let by = if word.is_asked() { this_thread() } else { NOBODY };
        self.released_at.store(now, Relaxed);
        self.released_by.store(by, Relaxed);
        word.is_asked()
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

    /// What is left when all have gone: nothing that a later wait would see.
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
