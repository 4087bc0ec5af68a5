//! How much may be written to the backing device: so many bytes a day. Pure.
//!
//! Flash wears out. Unused budget accumulates for at most one day, so that a service that is
//! started again and again writes no more than one that runs.

use serde::{Deserialize, Serialize};
use unjank_host::Bytes;

/// Seconds of a day.
const DAY: u64 = 24 * 60 * 60;

/// The remaining budget at a moment.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Budget {
    left: f64,
    /// Seconds since 1970.
    at: u64,
}

impl Budget {
    /// A whole day's.
    pub fn full(per_day: Bytes, now: u64) -> Self {
        Self { left: per_day.get() as f64, at: now }
    }

    /// Adds what has accumulated until `now`, in seconds since 1970. A clock that was set back adds
    /// nothing.
    pub fn refill(&mut self, per_day: Bytes, now: u64) {
        let per_day = per_day.get() as f64;
        let seconds = now.saturating_sub(self.at) as f64;
        let left = if self.left.is_finite() { self.left } else { 0.0 };
        self.left = (left + per_day * seconds / DAY as f64).min(per_day);
        self.at = now;
    }

    /// Whether it differs by `least` or more from what it would be at `now` if nothing had been
    /// written since `earlier`.
    pub fn has_spent(&self, mut earlier: Self, least: Bytes, per_day: Bytes, now: u64) -> bool {
        earlier.refill(per_day, now);
        earlier.left - self.left >= least.get() as f64
    }

    /// So much was written.
    pub fn spend(&mut self, written: Bytes) {
        self.left -= written.get() as f64;
    }

    /// The remaining budget.
    pub fn left(&self) -> Bytes {
        Bytes(self.left.max(0.0) as u64)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PER_DAY: Bytes = Bytes(86_400_000);

    #[test]
    fn what_is_not_used_accumulates_for_a_day() {
        let mut budget = Budget::full(PER_DAY, 1_000);
        budget.refill(PER_DAY, 2_000);
        assert_eq!(budget.left(), PER_DAY);
        budget.spend(Bytes(86_399_000));
        assert_eq!(budget.left(), Bytes(1_000));
        budget.refill(PER_DAY, 2_005);
        assert_eq!(budget.left(), Bytes(6_000));
        budget.refill(PER_DAY, 1_000);
        assert_eq!(budget.left(), Bytes(6_000), "the clock was set back");
        budget.refill(PER_DAY, 1_000_000);
        assert_eq!(budget.left(), PER_DAY);
    }

    #[test]
    fn what_has_accumulated_and_was_spent_counts() {
        let stored = Budget { left: 0.0, at: 0 };
        let mut budget = stored;
        budget.refill(PER_DAY, 1_000);
        assert!(!budget.has_spent(stored, Bytes(1), PER_DAY, 1_000));
        budget.spend(Bytes(1_000_000));
        assert_eq!(budget.left(), Bytes(0), "as when it was stored");
        assert!(budget.has_spent(stored, Bytes(1_000_000), PER_DAY, 1_000));
    }

    #[test]
    fn more_than_was_allowed_is_made_up_for() {
        let mut budget = Budget::full(PER_DAY, 0);
        budget.spend(Bytes(86_402_000));
        assert_eq!(budget.left(), Bytes(0));
        budget.refill(PER_DAY, 2);
        assert_eq!(budget.left(), Bytes(0));
        budget.refill(PER_DAY, 3);
        assert_eq!(budget.left(), Bytes(1_000));
    }

    #[test]
    fn a_damaged_or_smaller_budget_gives_no_more_than_a_day() {
        let mut budget = Budget { left: f64::NAN, at: 5 };
        budget.refill(PER_DAY, 5);
        assert_eq!(budget.left(), Bytes(0));
        let mut budget = Budget { left: 1e300, at: 5 };
        budget.refill(PER_DAY, 5);
        assert_eq!(budget.left(), PER_DAY);
    }
}
