//! For how long to look at a word before sleeping on it.
//!
//! Between two CPUs, an answer that comes soon is cheaper to look out for
//! than to be woken for. On one CPU looking only keeps the other side from
//! running, so whoever shares a CPU with the other side never looks. Three
//! times in a row without success, and only every [`RETRY`]th wait looks
//! again.

use std::time::Duration;

/// For how long either side looks out before it sleeps, if nothing else is
/// set: 30 µs.
///
/// Spinning for as long as the sleep and the wake-up that it may spare never
/// costs more than twice the better choice. Both together were seen to take
/// 15 to 20 µs across two CPUs of a virtual machine, where waking an idle CPU
/// needs the hypervisor, and take a few on bare metal; the rest is room for a
/// server that has to be woken itself before it can answer.
pub const DEFAULT_SPIN: Duration = Duration::from_micros(30);

/// A spinning thread of real-time priority keeps everybody else from its CPU
/// for at most this long.
pub const MAX_SPIN: Duration = Duration::from_millis(1);

const PATIENCE: u32 = 3;
const RETRY: u32 = 32;

/// Whether to spin, decided by what spinning was good for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Spin {
    limit: u64,
    failures: u32,
    skipped: u32,
}

impl Spin {
    /// Spins for at most `limit`, which is cut at [`MAX_SPIN`].
    pub(crate) fn new(limit: Duration) -> Self {
        let limit = u64::try_from(limit.min(MAX_SPIN).as_nanos()).unwrap_or(0);
        Self { limit, failures: 0, skipped: 0 }
    }

    /// How many nanoseconds to spin this time.
    #[inline]
    pub(crate) fn budget(&mut self) -> u64 {
        if self.failures < PATIENCE {
            return self.limit;
        }
        self.skipped += 1;
        if self.skipped < RETRY {
            return 0;
        }
        self.skipped = 0;
        self.limit
    }

    /// What was waited for came while spinning, or did not.
    #[inline]
    pub(crate) fn note(&mut self, came: bool) {
        self.failures = if came { 0 } else { self.failures.saturating_add(1) };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_never_helps_is_rarely_tried() {
        let mut spin = Spin::new(DEFAULT_SPIN);
        let mut tries = 0;
        for _ in 0..3 + 10 * RETRY {
            if spin.budget() > 0 {
                tries += 1;
                spin.note(false);
            }
        }
        assert_eq!(tries, 3 + 10);
    }

    #[test]
    fn one_success_brings_it_back() {
        let mut spin = Spin::new(DEFAULT_SPIN);
        for _ in 0..3 {
            spin.note(false);
        }
        assert_eq!(spin.budget(), 0);
        spin.note(true);
        assert_eq!(spin.budget(), 30_000);
    }

    #[test]
    fn the_limit_has_a_limit_and_may_be_zero() {
        assert_eq!(Spin::new(Duration::MAX).budget(), 1_000_000);
        assert_eq!(Spin::new(Duration::ZERO).budget(), 0);
    }
}
