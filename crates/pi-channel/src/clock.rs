//! Moments on the monotonic clock, for timeouts.

use std::time::Duration;

use rustix::thread::futex::Timespec;
use rustix::time::{ClockId, clock_gettime};

const SECOND: u64 = 1_000_000_000;

/// Nanoseconds on a clock of the kernel.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Moment(u64);

impl Moment {
    #[inline]
    pub(crate) fn now() -> Self {
        Self::on(ClockId::Monotonic)
    }

    /// The same moment on the real-time clock, unless that clock is set.
    pub(crate) fn on_real_time_clock(self) -> Self {
        let ahead = self.since(Self::now());
        Self(Self::on(ClockId::Realtime).0.saturating_add(ahead))
    }

    pub(crate) fn after(self, time: Duration) -> Self {
        let nanos = u64::try_from(time.as_nanos()).unwrap_or(u64::MAX);
        Self(self.0.saturating_add(nanos))
    }

    /// Nanoseconds from `earlier` to this moment; 0 if it is not earlier.
    #[inline]
    pub(crate) fn since(self, earlier: Self) -> u64 {
        self.0.saturating_sub(earlier.0)
    }

    pub(crate) fn timespec(self) -> Timespec {
        Timespec { tv_sec: (self.0 / SECOND) as i64, tv_nsec: (self.0 % SECOND) as _ }
    }

    #[inline]
    fn on(clock: ClockId) -> Self {
        let now = clock_gettime(clock);
        Self((now.tv_sec as u64).saturating_mul(SECOND).saturating_add(now.tv_nsec as u64))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn far_moments_saturate() {
        let far = Moment::now().after(Duration::MAX);
        assert_eq!(far, Moment(u64::MAX));
        assert_eq!(far.after(Duration::from_secs(1)), far);
        assert_eq!(Moment(1).since(far), 0);
        assert!(far.timespec().tv_sec > 0);
    }

    #[test]
    fn a_moment_is_as_far_on_either_clock() {
        let moment = Moment::now().after(Duration::from_secs(3_600));
        let ahead = moment.on_real_time_clock().since(Moment::on(ClockId::Realtime));
        assert!(ahead.abs_diff(3_600 * SECOND) < 600 * SECOND, "{ahead}");
    }
}
