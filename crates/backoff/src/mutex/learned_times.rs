//! The times that a mutex learns: how long it is held, and how soon its holder is
//! back.
//!
//! Timing each section would cost more than a short one lasts. So a section is
//! timed only if a waiter asks, and `TIMED` and `MARKED` in the word say which of
//! the times here belong to the current section.

use super::policy::{Learned, Observation, Waiter};
use super::word::Word;
use crate::spin_policy::Expected;
use crate::sync::{AtomicU32, Relaxed, const_except_in_models};
use crate::ticks::Ticks;

/// The learned times: the lower half of ticks.
pub(super) struct LearnedTimes {
    gap: AtomicU32,
    held: AtomicU32,
    /// Time at which the lock was taken, if the word is `TIMED`.
    taken_at: AtomicU32,
    /// Time and thread of the last release, if a waiter had asked.
    released_at: AtomicU32,
    released_by: AtomicU32,
    /// Time at which `gap` was learned, in units of [`AGE`] ticks.
    pub(super) learned_at: AtomicU32,
    /// Failed spins since the last successful one.
    failures: AtomicU32,
}

/// Sections of at least this many nanoseconds are not plain: a plain one saves less
/// than a hundredth of that, and a waiter cannot take a ticket before its end.
const LONG: u64 = 1_000;

/// log2 of the unit, in ticks, of the age of `gap`: about a microsecond.
const AGE: u32 = 12;

/// An identifier of the calling thread, from the address of a thread-local; never 0.
fn this_thread() -> u32 {
    std::thread_local! {
        static MARK: u8 = const { 0 };
    }
    MARK.with(|mark| core::ptr::from_ref(mark).addr() as u32 | 1)
}

const NOBODY: u32 = 0;

impl LearnedTimes {
    const_except_in_models! {
        pub(super) const fn new() -> Self {
            Self {
                gap: AtomicU32::new(0),
                held: AtomicU32::new(0),
                taken_at: AtomicU32::new(0),
                released_at: AtomicU32::new(0),
                released_by: AtomicU32::new(0),
                learned_at: AtomicU32::new(0),
                failures: AtomicU32::new(0),
            }
        }
    }

    pub(super) fn snapshot(&self, now: Ticks, learned_before: u32, resting: u32) -> Learned {
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

    /// Called when a thread took the lock without waiting.
    pub(super) fn passed(&self, word: Word) {
        let now = Ticks::now();
        if word.is_marked() {
            self.came_back(now);
            self.forget_release();
        }
        if word.is_asked() {
            self.taken_at.store(now.0 as u32, Relaxed);
        }
    }

    /// Called when a thread wants the lock. If it also released it last, learns the
    /// gap.
    pub(super) fn came_back(&self, now: Ticks) {
        if self.released_by.load(Relaxed) != this_thread() {
            return;
        }
        self.forget_release();
        let gap = (now.0 as u32).wrapping_sub(self.released_at.load(Relaxed));
        let mean = Expected(self.gap.load(Relaxed)).with(Ticks(u64::from(gap)));
        self.gap.store(mean.0, Relaxed);
        let before = self.learned_at.load(Relaxed);
        let at = (now.0 >> AGE) as u32;
        // Two lessons within one unit must differ.
        self.learned_at.store(if at == before { at.wrapping_add(1) } else { at }, Relaxed);
    }

    /// Called when a waiter took the lock.
    pub(super) fn taken(&self, word: Word, waiter: &Waiter) {
        if waiter.own.asked {
            self.taken_at.store(Ticks::now().0 as u32, Relaxed);
        } else if word.is_marked() {
            self.forget_release();
        }
        if waiter.has_spun() && self.failures.load(Relaxed) > 0 {
            self.failures.store(0, Relaxed);
        }
    }

    /// Called when another thread took the lock after a noted release.
    pub(super) fn forget_release(&self) {
        self.released_by.store(NOBODY, Relaxed);
    }

    /// Called when a spin has failed.
    pub(super) fn failed(&self, look: &Observation) {
        self.failures.store(look.learned.failures.saturating_add(1), Relaxed);
    }

    /// Called before a release.
    pub(super) fn releasing(&self, word: Word) -> Noted {
        if !word.is_timed() && !word.is_asked() {
            return Noted::default();
        }
        let now = Ticks::now().0 as u32;
        let mut is_long = None;
        if word.is_timed() {
            let held = now.wrapping_sub(self.taken_at.load(Relaxed));
            let mean = Expected(self.held.load(Relaxed)).with(Ticks(u64::from(held)));
            self.held.store(mean.0, Relaxed);
            is_long = Some(Ticks(u64::from(mean.0)) >= Ticks::from_nanos(LONG));
        }
        let by = if word.is_asked() { this_thread() } else { NOBODY };
        self.released_at.store(now, Relaxed);
        self.released_by.store(by, Relaxed);
        Noted { when: word.is_asked(), is_long }
    }
}

/// A noted release.
#[derive(Clone, Copy, Default)]
pub(super) struct Noted {
    /// Whether its time and its thread were noted.
    pub(super) when: bool,
    /// Whether sections are long; `None` if this one was not timed.
    pub(super) is_long: Option<bool>,
}
