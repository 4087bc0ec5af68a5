//! A drop-in for `crossbeam_utils::Backoff`, with budgets in time.

use core::cell::Cell;
use core::fmt;

use crate::hint;
use crate::spin_policy::{Circumstances, Spin, Step};
use crate::ticks::Ticks;

/// Backs off in a loop of your own: the names and the meaning of
/// `crossbeam_utils::Backoff`, so `use unjank_backoff::Backoff` is all that
/// changes.
///
/// | | `crossbeam_utils` 0.8 | here |
/// |---|---|---|
/// | budget | 127 pauses: 1 to 18 µs, by processor | the cost of parking on this machine |
/// | [`spin`](Self::spin) for ever | never [completes](Self::is_completed) | completes |
/// | [`snooze`](Self::snooze) for ever | burns the CPU in `sched_yield` | sleeps, for up to 1 ms at a time |
/// | a `SCHED_FIFO` thread that snoozes for one of lower priority on its CPU | hangs both | sleeps, so the other runs |
///
/// Prefer [`Wait`](crate::Wait) or [`Signal`](crate::Signal) if the condition fits into a closure:
/// they cannot be misused.
///
/// ```
/// use core::sync::atomic::{AtomicUsize, Ordering};
/// use unjank_backoff::Backoff;
///
/// fn double(number: &AtomicUsize) -> usize {
///     let backoff = Backoff::new();
///     loop {
///         let seen = number.load(Ordering::Relaxed);
///         let new = seen * 2;
///         if number.compare_exchange(seen, new, Ordering::Relaxed, Ordering::Relaxed).is_ok() {
///             return new;
///         }
///         backoff.spin();
///     }
/// }
/// assert_eq!(double(&AtomicUsize::new(21)), 42);
/// ```
pub struct Backoff {
    /// The start of the first wait.
    begun: Cell<Option<Ticks>>,
    spin: Cell<Spin>,
    #[cfg(feature = "std")]
    naps: Cell<u32>,
}

/// The longest burst of one [`spin`](Backoff::spin), in pauses, as in crossbeam.
const LONGEST_BURST: u32 = 64;

/// Yielding ends after this many times the spin budget.
#[cfg(feature = "std")]
const YIELDING: u64 = 2;

impl Backoff {
    /// A back-off that has not waited yet. Costs nothing: the clock is read at the
    /// first wait.
    #[inline]
    #[must_use]
    pub const fn new() -> Self {
        Self {
            begun: Cell::new(None),
            spin: Cell::new(Spin::new(Ticks::MAX)),
            #[cfg(feature = "std")]
            naps: Cell::new(0),
        }
    }

    /// Starts again, like [`new`](Self::new).
    #[inline]
    pub fn reset(&self) {
        self.begun.set(None);
        self.spin.set(Spin::new(Ticks::MAX));
        #[cfg(feature = "std")]
        self.naps.set(0);
    }

    /// Backs off in a loop in which another thread has made progress, such as
    /// a failed compare-and-exchange: some pauses, half as many more each time, up to 64.
    #[inline]
    pub fn spin(&self) {
        self.waited();
        self.burst();
    }

    /// Backs off in a loop that waits for another thread: pauses for as long as
    /// parking costs, then yields for as long, and then sleeps for 50 µs to 1 ms.
    /// Without `std` it only pauses.
    ///
    /// If another thread can wake this one, park it once
    /// [`is_completed`](Self::is_completed).
    #[inline]
    pub fn snooze(&self) {
        let waited = self.waited();
        if waited < budget() {
            self.burst();
        } else {
            self.rest(waited);
        }
    }

    /// Whether spinning for longer would cost more than parking; also after
    /// [`spin`](Self::spin).
    #[inline]
    #[must_use]
    pub fn is_completed(&self) -> bool {
        self.begun.get().is_some_and(|begun| begun.elapsed() >= budget())
    }

    #[inline]
    fn waited(&self) -> Ticks {
        if let Some(begun) = self.begun.get() {
            return begun.elapsed();
        }
        self.begun.set(Some(Ticks::now()));
        Ticks::ZERO
    }

    #[inline]
    fn burst(&self) {
        let mut spin = self.spin.get();
        if let Step::Look { pauses, .. } = spin.step(Ticks::ZERO, Circumstances::default()) {
            hint::pause_times(pauses.min(LONGEST_BURST));
        }
        self.spin.set(spin);
    }

    #[cfg(feature = "std")]
    #[cold]
    fn rest(&self, waited: Ticks) {
        if waited < budget() * YIELDING {
            std::thread::yield_now();
        } else {
            crate::os::sleep(crate::spin_policy::nap(self.naps.get()));
            self.naps.set(self.naps.get().saturating_add(1));
        }
    }

    #[cfg(not(feature = "std"))]
    #[cold]
    fn rest(&self, _: Ticks) {
        self.burst();
    }
}

/// The cost of parking on this machine.
#[cfg(feature = "std")]
fn budget() -> Ticks {
    crate::calibrate::known().park
}

/// Without an operating system to park a thread: 10 µs.
#[cfg(not(feature = "std"))]
fn budget() -> Ticks {
    Ticks::from_nanos(10_000)
}

impl Default for Backoff {
    fn default() -> Self {
        Self::new()
    }
}

impl fmt::Debug for Backoff {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Backoff")
            .field("pauses", &self.spin.get().pauses())
            .field("is_completed", &self.is_completed())
            .finish_non_exhaustive()
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn spinning_completes() {
        let backoff = Backoff::new();
        assert!(!backoff.is_completed());
        while !backoff.is_completed() {
            backoff.spin();
        }
        backoff.reset();
        assert!(!backoff.is_completed());
        assert_eq!(backoff.spin.get().pauses(), 0);
    }

    #[test]
    #[cfg(feature = "std")]
    fn snoozing_ends_in_sleep() {
        let backoff = Backoff::default();
        while backoff.naps.get() < 2 {
            backoff.snooze();
        }
        assert!(backoff.is_completed());
        backoff.reset();
        assert_eq!(backoff.naps.get(), 0);
    }
}
