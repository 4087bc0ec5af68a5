//! Time: `CLOCK_MONOTONIC`, absolute sleeps, the CPU time of a thread and of
//! this process.

use std::ops::Add;

use rustix::param::clock_ticks_per_second;
use rustix::thread::{ClockId as SleepClock, clock_nanosleep_absolute};
use rustix::time::{ClockId, Timespec, clock_getres, clock_gettime};

use unjank_units::Nanos;

/// A moment on `CLOCK_MONOTONIC`, in nanoseconds since boot without suspend.
/// Trace events with the clock `mono` use the same numbers.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Timestamp(u64);

impl Timestamp {
    /// The current moment. Read through the vDSO, without a system call, if the
    /// clock source allows it.
    #[inline]
    pub fn now() -> Self {
        Self::from(clock_gettime(ClockId::Monotonic))
    }

    /// The moment `nanos` after boot.
    pub const fn from_nanos(nanos: u64) -> Self {
        Self(nanos)
    }

    /// Nanoseconds since boot.
    pub const fn as_nanos(self) -> u64 {
        self.0
    }

    /// The time from `earlier` until this moment; zero if `earlier` is later.
    #[must_use]
    pub const fn since(self, earlier: Self) -> Nanos {
        Nanos(self.0.saturating_sub(earlier.0))
    }

    /// Sleeps until this moment. Returns at once if it has passed, and early if
    /// a signal arrives: the caller checks its stop flag.
    #[inline]
    pub fn sleep_until(self) {
        let moment = Timespec {
            tv_sec: (self.0 / 1_000_000_000) as i64,
            tv_nsec: (self.0 % 1_000_000_000) as _,
        };
        // Only EINTR can happen for a valid clock and time.
        let _interrupted = clock_nanosleep_absolute(SleepClock::Monotonic, &moment);
    }

    /// Sleeps until this moment, or until `stop` returns true: it is called
    /// before the sleep, after each signal, and every second. Returns whether
    /// the moment was reached.
    pub fn sleep_until_or(self, stop: impl Fn() -> bool) -> bool {
        self.sleep_until_unless(Nanos::from_millis(1_000), stop).is_some()
    }

    /// As `sleep_until_or`, with `stop` called at least every `longest`.
    /// Returns the first clock read after the sleep, or `None` if stopped.
    /// Nothing happens between waking and reading the clock.
    #[inline]
    pub fn sleep_until_unless(self, longest: Nanos, stop: impl Fn() -> bool) -> Option<Self> {
        let mut now = Self::now();
        while !stop() {
            self.min(now + longest).sleep_until();
            now = Self::now();
            if now >= self {
                return Some(now);
            }
        }
        None
    }
}

impl From<Timespec> for Timestamp {
    #[inline]
    fn from(time: Timespec) -> Self {
        Self(nanos(time))
    }
}

impl Add<Nanos> for Timestamp {
    type Output = Self;

    #[inline]
    fn add(self, span: Nanos) -> Self {
        Self(self.0.saturating_add(span.0))
    }
}

/// User and system CPU time of the calling thread.
#[inline]
pub fn thread_cpu_time() -> Nanos {
    Nanos(nanos(clock_gettime(ClockId::ThreadCPUTime)))
}

/// User and system CPU time of all threads of this process. Time of other
/// threads since their last tick is not included (`thread_group_cputime` in
/// kernel/sched/cputime.c).
#[inline]
pub fn process_cpu_time() -> Nanos {
    Nanos(nanos(clock_gettime(ClockId::ProcessCPUTime)))
}

/// The time since boot, with suspend: `CLOCK_BOOTTIME`.
pub(crate) fn since_boot() -> Nanos {
    Nanos(nanos(clock_gettime(ClockId::Boottime)))
}

/// The length of a tick: 1/HZ of this kernel, the resolution of its coarse
/// clocks (`clock_getres(2)`).
pub fn tick() -> Nanos {
    Nanos(nanos(clock_getres(ClockId::MonotonicCoarse)))
}

#[inline]
fn nanos(time: Timespec) -> u64 {
    (time.tv_sec as u64).wrapping_mul(1_000_000_000).wrapping_add(time.tv_nsec as u64)
}

/// The length of a tick of `USER_HZ`, in which procfs counts CPU time: 10 ms.
pub(crate) fn user_tick() -> Nanos {
    Nanos(1_000_000_000 / clock_ticks_per_second().max(1))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tick_has_a_usual_length() {
        let hertz = 1_000_000_000_f64 / tick().0 as f64;
        assert!((24.0..=1_201.0).contains(&hertz), "{hertz}");
    }

    #[test]
    fn time_does_not_run_backwards() {
        let earlier = Timestamp::now();
        let later = Timestamp::now();
        assert!(later >= earlier);
        assert_eq!(earlier.since(later + Nanos(1)), Nanos::ZERO);
    }

    #[test]
    fn a_sleep_ends_at_or_after_its_moment() {
        let moment = Timestamp::now() + Nanos::from_millis(2);
        moment.sleep_until();
        assert!(Timestamp::now() >= moment);
    }

    #[test]
    fn a_sleep_can_be_stopped() {
        let moment = Timestamp::now() + Nanos::from_millis(2);
        assert!(moment.sleep_until_or(|| false));
        assert!(Timestamp::now() >= moment);
        assert!(!Timestamp::from_nanos(u64::MAX).sleep_until_or(|| true));
    }
}
