//! Waiting: carries out the decisions of the policy on the word.

use core::num::NonZeroU32;
use core::time::Duration;

use super::RawMutex;
use crate::mutex::plain_sections::allow_plain_sections;
use crate::mutex::policy::{Action, Observation, Waiter};
use crate::mutex::wait_buckets::WaitBucket;
use crate::mutex::word::{OwnBits, Word};
use crate::sync::{Acquire, Relaxed};
use crate::ticks::Ticks;
use crate::{calibrate, hint, os, rate};

/// How long a waiter sleeps again if no tickets are left.
const ANOTHER_SLEEP: Duration = Duration::from_millis(100);

impl RawMutex {
    #[cold]
    pub(super) fn wait(&self) {
        rate::learn_rate(false);
        let begun = Ticks::now();
        self.learned.came_back(begun);
        let learned_before = self.learned.learned_at.load(Relaxed);
        let park = calibrate::known().park;
        let mut waiter = Waiter::new(begun);
        self.wait_as(&mut waiter, learned_before, park);
        self.stop_watching(&mut waiter);
    }

    fn wait_as(&self, waiter: &mut Waiter, learned_before: u32, park: Ticks) {
        loop {
            let word = Word(self.word.load(Relaxed));
            let now = Ticks::now();
            let look = Observation {
                word,
                now,
                learned: self.learned.snapshot(now, learned_before, self.resting.load(Relaxed)),
                squeezed: os::is_squeezed(),
                park,
            };
            match waiter.next(&look) {
                Action::Take => {
                    if self.take(waiter, word) {
                        return;
                    }
                }
                Action::Book => self.book(waiter, &look),
                Action::Queue => {
                    let queued = word.without(waiter.own).with_overdue();
                    if queued.is_some_and(|to| self.exchange(word, to)) {
                        self.await_grant(waiter);
                        return;
                    }
                }
                Action::Search => {
                    waiter.own.searcher |= self.exchange(word, word.with_searcher());
                }
                Action::Ask => waiter.own.asked |= self.exchange(word, word.asked()),
                Action::CheckPriority => waiter.is_real_time = Some(os::is_real_time()),
                Action::Look { looks, pauses } => {
                    // Takes the lock at once: another decision would take too long.
                    if hint::look(looks, pauses, || !self.is_held())
                        && self.take(waiter, Word(self.word.load(Relaxed)))
                    {
                        return;
                    }
                }
                Action::Watch => {
                    self.watch().begin();
                    waiter.watches = true;
                }
                Action::AwaitEnd => {
                    self.watch().await_end(|| Word(self.word.load(Relaxed)).is_plain());
                    waiter.look_again();
                }
                Action::Rest(left) => {
                    if self.take_back(waiter, word) {
                        self.stop_watching(waiter);
                        self.rest(left);
                    }
                }
                Action::Sleep(_) => {
                    if waiter.has_spun() {
                        self.learned.failed(&look);
                    }
                    if self.sleep(waiter, word) {
                        return;
                    }
                }
            }
        }
    }

    fn take(&self, waiter: &Waiter, word: Word) -> bool {
        let taken = !word.is_locked() && self.exchange_to_acquire(word, word.taken(waiter.own));
        if taken {
            self.learned.taken(word, waiter);
        }
        taken
    }

    fn book(&self, waiter: &mut Waiter, look: &Observation) {
        let waiters = look.word.asleep() + look.learned.resting;
        let last = self.booked.load(Relaxed);
        // A race is harmless: two waiters may book the same time.
        self.booked.store(waiter.book(last, waiters, look.now), Relaxed);
    }

    /// Removes the waiter's own bits from the word. Returns whether it did.
    fn take_back(&self, waiter: &mut Waiter, word: Word) -> bool {
        let done =
            waiter.own == OwnBits::default() || self.exchange(word, word.without(waiter.own));
        if done {
            waiter.own = OwnBits::default();
        }
        done
    }

    fn stop_watching(&self, waiter: &mut Waiter) {
        if core::mem::take(&mut waiter.watches) {
            self.watch().end();
        }
    }

    /// Sleeps without a trace in the word, so that the busy holder is not slowed down.
    fn rest(&self, left: Ticks) {
        allow_plain_sections();
        self.resting.fetch_add(1, Relaxed);
        os::sleep(left.into());
        self.resting.fetch_sub(1, Relaxed);
    }

    /// Sleeps until a release wakes it, or until it is overdue. Returns whether it
    /// holds the lock now.
    fn sleep(&self, waiter: &mut Waiter, word: Word) -> bool {
        os::check_for_squeeze();
        let Some(asleep) = word.without(waiter.own).with_asleep() else {
            // The counter is full: sixteen thousand threads sleep already.
            if self.take_back(waiter, word) {
                os::sleep(ANOTHER_SLEEP);
            }
            return false;
        };
        if !self.exchange(word, asleep) {
            return false;
        }
        waiter.own = OwnBits::default();
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
                    self.await_grant(waiter);
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

    /// Pairs with the increment in [`release_noting`](Self::release_noting).
    fn take_permit(&self) -> bool {
        self.permits.fetch_update(Relaxed, Relaxed, |permits| permits.checked_sub(1)).is_ok()
    }

    /// Called when the sleep timed out: removes this thread from `asleep`.
    fn wake_up_late(&self) -> Late {
        loop {
            let word = Word(self.word.load(Relaxed));
            let Some(awake) = word.without_asleep() else {
                return Late::Woken;
            };
            if !word.is_locked() {
                if self.exchange_to_acquire(word, awake.taken(OwnBits::default())) {
                    if word.is_marked() {
                        self.learned.forget_release();
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

    /// Takes a ticket and waits until the lock is handed over. Spins at first, because
    /// a lock that is handed to a sleeping thread is idle until that runs.
    fn await_grant(&self, waiter: &Waiter) {
        let ticket = self.tickets.fetch_add(1, Relaxed);
        let begun = Ticks::now();
        let may_spin = waiter.is_real_time != Some(true);
        let budget = if may_spin { calibrate::known().park } else { Ticks::ZERO };
        let bucket = self.bucket(ticket);
        while !self.is_called(ticket) {
            let is_next = self.grants.load(Relaxed) == ticket;
            if is_next && begun.elapsed() < budget {
                hint::pause();
                continue;
            }
            bucket.wait_unless(|| self.is_called(ticket));
        }
    }

    /// Whether the lock has been handed to this ticket; pairs with `hand_off`.
    fn is_called(&self, ticket: u32) -> bool {
        ticket.wrapping_sub(self.grants.load(Acquire)) > u32::MAX / 2
    }

    pub(super) fn bucket(&self, ticket: u32) -> WaitBucket {
        WaitBucket::new(core::ptr::from_ref(self).addr(), ticket)
    }
}

/// The fate of a sleeper that timed out.
enum Late {
    /// Two thousand threads have tickets already: it sleeps again.
    Full,
    /// It took the lock.
    Taken,
    /// It may take a ticket.
    Queued,
    /// A release woke it at the same time: its permit is on the way.
    Woken,
}
