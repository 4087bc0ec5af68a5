//! Waiting for a condition of which nobody tells.

use core::sync::atomic::{AtomicU32, Ordering};
use core::time::Duration;

use crate::hint::Monitor;
use crate::ladder::{self, Circumstances, Spin, Step};
use crate::ticks::Ticks;
use crate::{calibrate, hint, os, rate};

/// Waits for a condition that somebody makes true without telling: a flag in
/// shared memory, a register of a device, a word of somebody else's library.
///
/// It spins for as long as parking would cost, and then sleeps, 50 µs at first
/// and 1 ms at last, so it never burns a CPU, and a `SCHED_FIFO` thread never
/// keeps whom it waits for from running. There is no way to spin for ever with
/// it. Where whoever makes the condition true can tell, use a
/// [`Signal`](crate::Signal): it wakes at once.
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

/// Pauses between two looks from which on the processor is asked to wait for a
/// store: the spin has lasted for some 70 pauses by then.
const FIRST_PAUSES: u32 = 5;

impl Wait {
    /// For as long as it takes.
    pub const fn new() -> Self {
        Self { at_most: None }
    }

    /// For so long at most.
    pub const fn at_most(length: Duration) -> Self {
        Self { at_most: Some(length) }
    }

    /// Waits until `condition` is true, or the time is over. Returns what the
    /// condition was at last.
    pub fn until(self, mut condition: impl FnMut() -> bool) -> bool {
        self.climb(&mut condition, |condition, looks, pauses, _| {
            hint::look(looks, pauses, condition)
        })
    }

    /// Waits until `word` is no longer `seen`, or the time is over. Says whether
    /// it has changed; what was stored before that is seen.
    ///
    /// As [`until`](Self::until), but where the processor can wait for a store
    /// ([`hint::monitor`]), it does so between the first pauses and sleep: it
    /// uses less power, and is back as soon as the line is written to.
    pub fn until_changed(self, word: &AtomicU32, seen: u32) -> bool {
        let mut has_changed = || word.load(Ordering::Acquire) != seen;
        self.climb(&mut has_changed, |has_changed, looks, pauses, left| {
            if pauses < FIRST_PAUSES || hint::monitor() == Monitor::Polling {
                return hint::look(looks, pauses, has_changed);
            }
            hint::wait_for_store(word, seen, left);
            has_changed()
        })
    }

    /// `spin` is told how often to look, after how many pauses each, and how
    /// much of the time for spinning is left; it says whether the condition is
    /// true.
    fn climb<C: FnMut() -> bool>(
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
                    os::sleep(ladder::nap(naps).min(left.into()));
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
