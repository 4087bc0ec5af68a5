//! Waits for a condition whose change is signalled.

use core::num::NonZeroU32;
use core::time::Duration;

use crate::spin_policy::{Circumstances, Expected, Spin, Step};
use crate::sync::{AtomicU32, Relaxed, SeqCst, const_except_in_models, fence};
use crate::ticks::Ticks;
use crate::{calibrate, hint, os, rate};

/// Lets threads wait for a condition, and wakes them when it may have become
/// true: an event count, in 16 bytes.
///
/// A waiter spins while that pays, and learns how long waits last here. Notifying
/// costs no system call unless a thread is parked.
///
/// ```
/// use std::sync::atomic::{AtomicBool, Ordering};
/// use unjank_backoff::Signal;
///
/// static READY: AtomicBool = AtomicBool::new(false);
/// static CHANGED: Signal = Signal::new();
///
/// std::thread::scope(|scope| {
///     scope.spawn(|| CHANGED.wait_until(|| READY.load(Ordering::Acquire)));
///     READY.store(true, Ordering::Release);
///     CHANGED.notify_all();
/// });
/// ```
pub struct Signal {
    /// Counts notifications while a thread was parked.
    events: AtomicU32,
    /// Threads that are about to park, or have.
    parked: AtomicU32,
    /// The time of the last notification of a parked thread: the lower half of the
    /// ticks.
    notified_at: AtomicU32,
    /// The [`Expected`] length of waits here.
    expected: AtomicU32,
}

impl Signal {
    const_except_in_models! {
        /// A signal without waiters.
        #[must_use]
        pub const fn new() -> Self {
            Self {
                events: AtomicU32::new(0),
                parked: AtomicU32::new(0),
                notified_at: AtomicU32::new(0),
                expected: AtomicU32::new(0),
            }
        }
    }

    /// Waits until `condition` is true. The thread that makes it true has to call
    /// [`notify_one`](Self::notify_one) or [`notify_all`](Self::notify_all) afterwards.
    ///
    /// The condition is evaluated often, and does its own ordering: it loads with
    /// `Acquire` what was stored with `Release`.
    #[inline]
    pub fn wait_until(&self, condition: impl FnMut() -> bool) {
        self.wait(condition, None);
    }

    /// Like [`wait_until`](Self::wait_until), with a time limit. Returns the last
    /// value of the condition.
    #[inline]
    pub fn wait_until_for(&self, condition: impl FnMut() -> bool, at_most: Duration) -> bool {
        // A time limit needs the exact rate of ticks.
        rate::learn_rate(true);
        self.wait(condition, Some(at_most.into()))
    }

    /// Like [`wait_until`](Self::wait_until), without spinning first: for callers with
    /// their own decision.
    pub fn park_until(&self, mut condition: impl FnMut() -> bool) {
        while !self.park(&mut condition, None) {}
    }

    /// Like [`park_until`](Self::park_until), with a time limit. Returns the last
    /// value of the condition.
    pub fn park_until_for(&self, mut condition: impl FnMut() -> bool, at_most: Duration) -> bool {
        rate::learn_rate(true);
        let (begun, at_most) = (Ticks::now(), Ticks::from(at_most));
        loop {
            let left = at_most - begun.elapsed();
            if self.park(&mut condition, Some(left)) {
                return true;
            }
            if left == Ticks::ZERO {
                return false;
            }
        }
    }

    /// Wakes one parked thread, if there is one. Spinning threads see the condition by
    /// themselves, and one of them may be first. If threads wait for different
    /// conditions, or one change lets several continue, use
    /// [`notify_all`](Self::notify_all).
    #[inline]
    pub fn notify_one(&self) {
        if self.has_parked() {
            self.notified_at.store(Ticks::now().0 as u32, Relaxed);
            self.events.fetch_add(1, SeqCst);
            os::wake(&self.events);
        }
    }

    /// Wakes all parked threads.
    #[inline]
    pub fn notify_all(&self) {
        if self.has_parked() {
            self.notified_at.store(Ticks::now().0 as u32, Relaxed);
            self.events.fetch_add(1, SeqCst);
            os::wake_all(&self.events, NonZeroU32::MAX);
        }
    }

    /// Either the notifier sees the parking thread, or that thread sees the condition:
    /// pairs with the fence in [`park`](Self::park).
    #[inline]
    fn has_parked(&self) -> bool {
        fence(SeqCst);
        self.parked.load(Relaxed) > 0
    }

    #[inline]
    fn wait(&self, mut condition: impl FnMut() -> bool, at_most: Option<Ticks>) -> bool {
        condition() || self.wait_on(&mut condition, at_most)
    }

    #[cold]
    fn wait_on(&self, condition: &mut dyn FnMut() -> bool, at_most: Option<Ticks>) -> bool {
        rate::learn_rate(false);
        let begun = Ticks::now();
        let over = |now: Ticks| at_most.is_some_and(|at_most| now - begun >= at_most);
        if self.spin(condition, begun, &over) {
            return true;
        }
        os::check_for_squeeze();
        while !over(Ticks::now()) {
            let left = at_most.map(|at_most| begun + at_most - Ticks::now());
            if self.park(condition, left) {
                self.learn(self.waited(begun));
                return true;
            }
        }
        condition()
    }

    /// Returns whether the condition is true.
    fn spin(
        &self,
        condition: &mut dyn FnMut() -> bool,
        begun: Ticks,
        over: &dyn Fn(Ticks) -> bool,
    ) -> bool {
        let expected = Expected(self.expected.load(Relaxed));
        let park = calibrate::known().park;
        let mut spin = Spin::new(expected.budget(park, os::is_squeezed()));
        let mut is_real_time = None;
        let mut last = begun;
        loop {
            let now = Ticks::now();
            if is_real_time.is_none() && Circumstances::is_worth_asking(now - begun) {
                is_real_time = Some(os::is_real_time());
            }
            let seen = Circumstances {
                real_time: is_real_time == Some(true),
                switched_out: Circumstances::is_switched_out(now - last),
                ..Circumstances::default()
            };
            last = now;
            match spin.step(now - begun, seen) {
                Step::Look { looks, pauses } if !over(now) => {
                    if hint::look(looks, pauses, &mut *condition) {
                        self.learn(begun.elapsed());
                        return true;
                    }
                }
                _ => return false,
            }
        }
    }

    /// Parks until a notification. Returns whether the condition is true.
    fn park(&self, condition: &mut dyn FnMut() -> bool, left: Option<Ticks>) -> bool {
        self.parked.fetch_add(1, Relaxed);
        let _parked = Parked(self);
        let seen = self.events.load(SeqCst);
        // Pairs with the fence in `has_parked`.
        fence(SeqCst);
        if condition() {
            return true;
        }
        match left {
            None => os::wait(&self.events, seen, NonZeroU32::MAX),
            Some(left) => os::wait_for(&self.events, seen, left.into()),
        }
        condition()
    }

    /// How long a parked thread has waited: until the notification, because the
    /// wake-up latency would make every short wait a long one.
    fn waited(&self, begun: Ticks) -> Ticks {
        let (all, until) = (begun.elapsed(), self.notified_at.load(Relaxed));
        // The lower half of the ticks wraps around in a second or two.
        if all.0 > u64::from(u32::MAX) {
            return all;
        }
        all.min(Ticks(u64::from(until.wrapping_sub(begun.0 as u32))))
    }

    fn learn(&self, waited: Ticks) {
        let expected = Expected(self.expected.load(Relaxed)).with(waited);
        self.expected.store(expected.0, Relaxed);
    }
}

/// Counts a thread as parked until it is dropped, because a condition may panic.
struct Parked<'a>(&'a Signal);

impl Drop for Parked<'_> {
    fn drop(&mut self) {
        self.0.parked.fetch_sub(1, Relaxed);
    }
}

impl Default for Signal {
    fn default() -> Self {
        Self::new()
    }
}

impl core::fmt::Debug for Signal {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_struct("Signal").field("parked", &self.parked.load(Relaxed)).finish_non_exhaustive()
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;
    use core::sync::atomic::{AtomicU64, Ordering};
    use std::thread;

    #[test]
    fn a_condition_that_is_true_is_not_waited_for() {
        Signal::new().wait_until(|| true);
    }

    #[test]
    fn a_wait_ends_by_itself() {
        let signal = Signal::default();
        assert!(!signal.wait_until_for(|| false, Duration::from_millis(2)));
        assert!(!signal.wait_until_for(|| false, Duration::ZERO));
        assert!(signal.wait_until_for(|| true, Duration::ZERO));
        assert_eq!(signal.parked.load(Relaxed), 0);
    }

    /// A wait that ended in a park lasted until the notification, not the wake-up.
    #[test]
    fn being_woken_is_not_counted_as_waiting() {
        let signal = Signal::new();
        let begun = Ticks::now();
        signal.notified_at.store((begun.0 as u32).wrapping_add(1_000), Relaxed);
        while begun.elapsed() < Ticks(1_000) {}
        assert_eq!(signal.waited(begun), Ticks(1_000));
        // Where the counter has counted that far yet.
        if let Some(long_ago) = begun.0.checked_sub(1 << 33) {
            assert!(signal.waited(Ticks(long_ago)) > Ticks(1 << 32), "it went round meanwhile");
        }
        let now = Ticks::now();
        signal.notified_at.store(now.0 as u32 ^ (1 << 31), Relaxed);
        assert!(signal.waited(now) < Ticks(1 << 31), "one of another wait does not count");
    }

    #[test]
    fn a_condition_may_panic() {
        let signal = Signal::new();
        let parked = std::panic::catch_unwind(core::panic::AssertUnwindSafe(|| {
            signal.park_until(|| panic!("as expected"));
        }));
        assert!(parked.is_err());
        assert_eq!(signal.parked.load(Relaxed), 0);
    }

    #[test]
    fn every_waiter_is_woken() {
        let turns = if cfg!(miri) { 20 } else { 20_000 };
        let signal = Signal::new();
        let turn = AtomicU64::new(0);
        thread::scope(|scope| {
            for player in 0..2 {
                let (signal, turn) = (&signal, &turn);
                scope.spawn(move || {
                    for round in 0..turns {
                        let mine = 2 * round + player;
                        signal.wait_until(|| turn.load(Ordering::Acquire) == mine);
                        turn.store(mine + 1, Ordering::Release);
                        signal.notify_all();
                    }
                });
            }
        });
        assert_eq!(turn.load(Ordering::Acquire), 2 * turns);
        assert!(signal.expected.load(Relaxed) > 0, "it has learned");
    }
}
