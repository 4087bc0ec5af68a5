//! A limit on the rate of writes, so that a tier that wears out lasts.

use std::fmt;

use unjank_units::{Bytes, Nanos};

use super::{Admission, Eviction};
use crate::page::PAGE;
use crate::page::Page;
use crate::tier::Level;

/// A rate of writes of the tier.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct WriteRate {
    /// Pages of 4 KiB per period, at least one.
    pub pages: u32,
    /// The period, longer than zero.
    pub period: Nanos,
}

impl WriteRate {
    /// The periods that have a name on the command line, as in `1GiB/day`; the shortest first.
    pub const PERIODS: [(&'static str, Nanos); 4] = [
        ("s", Nanos::from_millis(1_000)),
        ("min", Nanos::from_millis(60_000)),
        ("h", Nanos::from_millis(3_600_000)),
        ("day", Nanos::from_millis(86_400_000)),
    ];
}

impl fmt::Display for WriteRate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let size = Bytes(u64::from(self.pages) * PAGE);
        match Self::PERIODS.iter().find(|(_, period)| *period == self.period) {
            Some((name, _)) => write!(f, "{size}/{name}"),
            None => write!(f, "{size} in {}", self.period),
        }
    }
}

/// Admits the pages that another rule admits, as long as writes of the tier stay within a rate.
///
/// The rate is a token bucket that holds one period and is full at the beginning. Writes in place
/// count but are never rejected, because the tier holds the page.
#[derive(Debug, Clone)]
pub struct Budget<A> {
    rule: A,
    pages: f64,
    period: Nanos,
    left: f64,
    last: Nanos,
    over: u64,
}

impl<A> Budget<A> {
    /// Limits the writes under `rule` to `rate`.
    pub fn new(rule: A, rate: WriteRate) -> Self {
        let pages = f64::from(rate.pages);
        let last = Nanos::ZERO;
        Self { rule, pages, period: rate.period, left: pages, last, over: 0 }
    }

    fn refill(&mut self, at: Nanos) {
        let passed = (at - self.last).get() as f64 / self.period.get().max(1) as f64;
        self.left = (self.left + passed * self.pages).min(self.pages);
        self.last = at.max(self.last);
    }
}

impl<A: Admission> Admission for Budget<A> {
    fn admits(&mut self, eviction: Eviction) -> bool {
        self.refill(eviction.at);
        // The rule is asked even without budget: it learns from evictions.
        if !self.rule.admits(eviction) {
            return false;
        }
        if self.left < 1.0 {
            self.over += 1;
            return false;
        }
        true
    }

    fn over_budget(&self) -> u64 {
        self.over
    }

    fn entered(&mut self, page: Page) {
        self.left -= 1.0;
        self.rule.entered(page);
    }

    fn left(&mut self, page: Page) {
        self.rule.left(page);
    }

    fn requested(&mut self, page: Page, found: Level, at: Nanos) {
        self.rule.requested(page, found, at);
    }

    fn rewritten(&mut self, page: Page, at: Nanos) {
        self.refill(at);
        // May go below zero: later writes make up for it.
        self.left -= 1.0;
        self.rule.rewritten(page, at);
    }

    fn dropped(&mut self, page: Page, at: Nanos) {
        self.rule.dropped(page, at);
    }

    fn leaves(&mut self, at: Nanos) -> Option<Page> {
        self.rule.leaves(at)
    }

    fn gone(&mut self, page: Page) {
        self.rule.gone(page);
    }

    fn bytes(&self) -> usize {
        self.rule.bytes()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::admission::tests::evict_at;
    use crate::admission::{Age, Always, Ghost};
    use crate::page::Space;

    #[test]
    fn writes_stay_within_the_rate() {
        let second = Nanos::from_millis(1_000);
        let mut rule = Budget::new(Always, WriteRate { pages: 2, period: second });
        let mut enters = |millis| evict_at(&mut rule, 1, Nanos::from_millis(millis));
        assert_eq!([0, 1, 2].map(&mut enters), [true, true, false]);
        assert_eq!([600, 601].map(&mut enters), [true, false], "half a second gives one");
        assert_eq!([9_000, 9_000, 9_000].map(&mut enters), [true, true, false]);
        rule.rewritten(Page(1), Nanos::from_millis(9_100));
        assert!(!evict_at(&mut rule, 1, Nanos::from_millis(9_500)), "the rewrite is made up for");
        assert_eq!(rule.over_budget(), 4);
        let eviction = Eviction { page: Page(1), dirty: true, at: Nanos::from_millis(10_200) };
        assert!(rule.admits(eviction) && rule.admits(eviction), "only entries use the budget");
    }

    #[test]
    fn a_rule_counts_only_the_pages_that_entered() {
        let one = WriteRate { pages: 1, period: Nanos::from_millis(60_000) };
        let space = Space::new(2, 10).unwrap();
        let mut mmd = Budget::new(Age::new(space), one);
        let evicted = [(0, 1), (0, 2), (0, 3), (60_000, 2), (120_000, 3)];
        let enters = evicted.map(|(at, page)| evict_at(&mut mmd, page, Nanos::from_millis(at)));
        assert_eq!(enters, [true, false, false, true, false], "two fit, and two are in");
        let mut ghost = Budget::new(Ghost::new(10, 5).unwrap(), one);
        let evicted = [(0, 1), (0, 2), (0, 1), (0, 2), (60_000, 2)];
        let enters = evicted.map(|(at, page)| evict_at(&mut ghost, page, Nanos::from_millis(at)));
        assert_eq!(enters, [false, false, true, false, true], "it is still remembered");
    }

    #[test]
    fn rates_are_printed_with_the_name_of_their_period() {
        let rate = |pages, millis| WriteRate { pages, period: Nanos::from_millis(millis) };
        assert_eq!(rate(262_144, 86_400_000).to_string(), "1.00 GiB/day");
        assert_eq!(rate(256, 10_000).to_string(), "1.00 MiB in 10.0 s");
    }
}
