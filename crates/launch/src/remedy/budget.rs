//! A limit on boosted time: the clock is raised for at most a share of the time.

use unjank_host::{Nanos, Timestamp};

/// The period of a budget.
pub const PERIOD: Nanos = Nanos::from_millis(60_000);

/// Boosted time that may be used. It grows by the budget per minute, up to one
/// budget, and is spent while boosted.
#[derive(Debug, Clone)]
pub struct Budget {
    per_period: Nanos,
    left: Nanos,
    at: Timestamp,
    spending: bool,
}

impl Budget {
    /// A full budget of `per_period` boosted time per minute; a minute or more is
    /// unlimited.
    pub fn new(per_period: Nanos, now: Timestamp) -> Self {
        let per_period = per_period.min(PERIOD);
        Self { per_period, left: per_period, at: now, spending: false }
    }

    /// Boosted time that is left at `now`.
    pub fn left(&mut self, now: Timestamp) -> Nanos {
        let passed = now.since(self.at);
        let grown = u128::from(passed.min(PERIOD).get()) * u128::from(self.per_period.get())
            / u128::from(PERIOD.get());
        // At most a budget, so it fits.
        let grown = Nanos(grown as u64);
        let spent = if self.spending { passed } else { Nanos::ZERO };
        self.left = (self.left + grown).min(self.per_period + spent) - spent;
        self.at = now;
        self.left
    }

    /// Begins or ends spending.
    pub fn spend(&mut self, spending: bool, now: Timestamp) {
        self.left(now);
        self.spending = spending;
    }

    /// The moment at which continued spending empties the budget; `None` if never.
    pub fn empty_at(&self) -> Option<Timestamp> {
        let rest = PERIOD - self.per_period;
        if !self.spending || rest == Nanos::ZERO {
            return None;
        }
        let until = u128::from(self.left.get()) * u128::from(PERIOD.get()) / u128::from(rest.get());
        Some(self.at + Nanos(u64::try_from(until).unwrap_or(u64::MAX)))
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn at(millis: u64) -> Timestamp {
        Timestamp::from_nanos(millis * 1_000_000)
    }

    fn ms(millis: u64) -> Nanos {
        Nanos::from_millis(millis)
    }

    #[test]
    fn it_is_spent_while_boosted_and_grows_all_the_time() {
        let mut budget = Budget::new(ms(15_000), at(0));
        budget.spend(true, at(0));
        // Spent at one second a second, and given back at a quarter of it.
        assert_eq!(budget.left(at(4_000)), ms(12_000));
        assert_eq!(budget.empty_at(), Some(at(20_000)));
        budget.spend(false, at(20_000));
        assert_eq!((budget.left(at(20_000)), budget.empty_at()), (Nanos::ZERO, None));
        assert_eq!(budget.left(at(24_000)), ms(1_000));
        assert_eq!(budget.left(at(10_000_000)), ms(15_000));
    }

    #[test]
    fn a_minute_per_minute_is_unlimited() {
        let mut budget = Budget::new(ms(90_000), at(0));
        budget.spend(true, at(0));
        assert_eq!((budget.left(at(50_000)), budget.empty_at()), (ms(60_000), None));
    }

    proptest! {
        /// No stretch of time has more boosted time than one budget and its growth.
        #[test]
        fn no_storm_gets_more(gaps in prop::collection::vec((0_u64..3_000, 0_u64..3_000), 1..200)) {
            let per_minute = 6_000;
            let mut budget = Budget::new(ms(per_minute), at(0));
            let (mut now, mut boosted) = (0, 0);
            for (idle, wanted) in gaps {
                now += idle;
                let left = budget.left(at(now)).get() / 1_000_000;
                let length = wanted.min(left);
                budget.spend(true, at(now));
                now += length;
                budget.spend(false, at(now));
                boosted += length;
            }
            prop_assert!(boosted <= per_minute + now * per_minute / 60_000 + 1);
        }
    }
}
