//! Waits for a condition whose change is not signalled.

use core::sync::atomic::{AtomicU32, Ordering};
use core::time::Duration;

use crate::hint::Monitor;
use crate::spin_policy::{self, Circumstances, Spin, Step};
use crate::ticks::Ticks;
use crate::{calibrate, hint, os, rate};

/// Waits for a condition whose change is not signalled: a flag in shared memory, a
/// register of a device, a word of another library.
///
/// It spins for as long as parking costs, and then sleeps, for 50 µs at first and
/// up to 1 ms. It never spins for ever, so it wastes no CPU, and a `SCHED_FIFO`
/// thread does not keep the thread that it waits for from running. If the other
/// side can signal the change, use a [`Signal`](crate::Signal), which wakes at
/// once.
///
/// ```
/// use std::sync::atomic::{AtomicBool, Ordering};
/// use std::time::Duration;
/// use unjank_backoff::Wait;
///
/// let ready = AtomicBool::new(false);
/// std::thread::scope(|scope| {
///     scope.spawn(|| ready.store(true, Ordering::Release));
///     Wait::new().until(|| ready.load(Ordering::Acquire));
/// });
/// assert!(!Wait::at_most(Duration::from_millis(1)).until(|| false));
/// ```
#[derive(Debug, Clone, Copy, Default)]
#[must_use = "it waits in `until`"]
pub struct Wait {
    at_most: Option<Duration>,
}

/// From this many pauses between two looks on, the processor waits for a store
/// instead: after some 70 pauses.
const FIRST_PAUSES: u32 = 5;

impl Wait {
    /// A wait without a time limit.
    pub const fn new() -> Self {
        Self { at_most: None }
    }

    /// A wait of at most `length`.
    pub const fn at_most(length: Duration) -> Self {
        Self { at_most: Some(length) }
    }

    /// Waits until `condition` is true or the time is over. Returns the last value of
    /// the condition.
    pub fn until(self, mut condition: impl FnMut() -> bool) -> bool {
        self.wait(&mut condition, |condition, looks, pauses, _| {
            hint::look(looks, pauses, condition)
        })
    }

    /// Waits until `word` is no longer `seen` or the time is over. Returns whether it
    /// has changed, with acquire order.
    ///
    /// Like [`until`](Self::until), but a processor that can wait for a store
    /// ([`hint::monitor`]) does so between the first pauses and the sleep. That uses
    /// less power, and ends as soon as the cache line is written to.
    pub fn until_changed(self, word: &AtomicU32, seen: u32) -> bool {
        let mut has_changed = || word.load(Ordering::Acquire) != seen;
        self.wait(&mut has_changed, |has_changed, looks, pauses, left| {
            if pauses < FIRST_PAUSES || hint::monitor() == Monitor::Polling {
                return hint::look(looks, pauses, has_changed);
            }
            hint::wait_for_store(word, seen, left);
            has_changed()
        })
    }

    /// `spin_on` gets the number of looks, the pauses before each, and the time left
    /// for spinning; it returns whether the condition is true.
    fn wait<C: FnMut() -> bool>(
        self,
        condition: &mut C,
        spin_on: impl Fn(&mut C, u32, u32, Ticks) -> bool,
    ) -> bool {
        if condition() {
            return true;
        }
        rate::learn_rate(self.at_most.is_some());
        let begun = Ticks::now();
        let at_most = self.at_most.map(Ticks::from);
        let budget = calibrate::known().park;
        let mut spin = Spin::new(budget);
        let mut naps = 0;
        loop {
            let waited = begun.elapsed();
            let left = at_most.map_or(Ticks::MAX, |at_most| at_most - waited);
            if left == Ticks::ZERO {
                return condition();
            }
            match spin.step(waited, Circumstances::default()) {
                Step::Look { looks, pauses } => {
                    if spin_on(condition, looks, pauses, (budget - waited).min(left)) {
                        return true;
                    }
                }
                Step::Park => {
                    os::sleep(spin_policy::nap(naps).min(left.into()));
                    naps += 1;
                    if condition() {
                        return true;
                    }
                }
            }
        }
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;
    use core::cell::Cell;
    use std::thread;

    #[test]
    fn it_looks_until_it_is_true() {
        let looks = Cell::new(0);
        let third = || {
            looks.set(looks.get() + 1);
            looks.get() == 3
        };
        assert!(Wait::new().until(third));
        assert_eq!(looks.get(), 3);
    }

    #[test]
    fn it_gives_up_in_time() {
        assert!(!Wait::at_most(Duration::from_millis(2)).until(|| false));
        assert!(!Wait::at_most(Duration::ZERO).until(|| false));
        assert!(Wait::at_most(Duration::ZERO).until(|| true));
    }

    #[test]
    fn a_store_is_seen_at_once_and_later() {
        for nap in [0, 20, 3_000] {
            let word = AtomicU32::new(7);
            thread::scope(|scope| {
                scope.spawn(|| {
                    thread::sleep(Duration::from_micros(nap));
                    word.store(8, Ordering::Release);
                });
                assert!(Wait::new().until_changed(&word, 7));
            });
            assert!(!Wait::at_most(Duration::from_micros(300)).until_changed(&word, 8));
        }
    }

    #[test]
    fn what_another_thread_does_is_seen() {
        let word = AtomicU32::new(0);
        thread::scope(|scope| {
            scope.spawn(|| {
                thread::sleep(Duration::from_millis(2));
                word.store(1, Ordering::Release);
            });
            assert!(Wait::new().until(|| word.load(Ordering::Acquire) == 1));
        });
    }
}
