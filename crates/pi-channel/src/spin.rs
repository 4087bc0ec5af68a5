//! Decides how long to spin on a word before sleeping on it.
//!
//! Between two CPUs, spinning for an answer that comes soon costs less than being
//! woken. On one CPU, spinning only keeps the other side from running, so a side
//! that shares its CPU with the other never spins. After [`MOST_FAILURES`]
//! failures in a row, only every [`RETRY`]th wait spins.

use std::time::Duration;

/// Default time for which either side spins before it sleeps: 30 µs.
///
/// Spinning for as long as a sleep and a wake-up take never costs more than twice
/// the better choice. Together these were measured at 15 to 20 µs across two CPUs
/// of a virtual machine, where waking an idle CPU needs the hypervisor; on bare
/// metal they take a few µs. The rest is for a server that must be woken itself
/// before it can answer.
pub const DEFAULT_SPIN: Duration = Duration::from_micros(30);

/// The longest spin. A spinning real-time thread keeps all other threads from its
/// CPU for at most this long.
pub const MAX_SPIN: Duration = Duration::from_millis(1);

const MOST_FAILURES: u32 = 3;
const RETRY: u32 = 32;

/// Decides whether to spin, from the success of the last spins.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Spin {
    limit: u64,
    failures: u32,
    skipped: u32,
}

impl Spin {
    /// Spins for at most `limit`, and at most [`MAX_SPIN`].
    pub(crate) fn new(limit: Duration) -> Self {
        let limit = u64::try_from(limit.min(MAX_SPIN).as_nanos()).unwrap_or(0);
        Self { limit, failures: 0, skipped: 0 }
    }

    /// Time to spin in this wait, in nanoseconds.
    #[inline]
    pub(crate) fn budget(&mut self) -> u64 {
        if self.failures < MOST_FAILURES {
            return self.limit;
        }
        self.skipped += 1;
        if self.skipped < RETRY {
            return 0;
        }
        self.skipped = 0;
        self.limit
    }

    /// Records whether the answer came while spinning.
    #[inline]
    pub(crate) fn note(&mut self, came: bool) {
        self.failures = if came { 0 } else { self.failures.saturating_add(1) };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_spin_that_never_helps_is_rarely_tried() {
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
