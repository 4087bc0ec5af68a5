//! So many pages in a time, so that a tier that wears out lasts.

use unjank_host::Nanos;

use super::{Admission, Eviction};
use crate::model::page::Page;
use crate::model::tier::Found;

/// Lets in what another rule lets in, as long as writes to the tier stay
/// within a rate; what was not used is kept for one period at most. Writes
/// in place count, too, but are never turned away: the tier holds the page.
#[derive(Debug, Clone)]
pub struct Budget<A> {
    rule: A,
    pages: f64,
    period: Nanos,
    left: f64,
    last: Nanos,
}

impl<A> Budget<A> {
    /// `pages` writes in each `period`.
    pub fn new(rule: A, pages: u32, period: Nanos) -> Self {
        let pages = f64::from(pages);
        Self { rule, pages, period, left: pages, last: Nanos::ZERO }
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
        let admits = self.rule.admits(eviction) && self.left >= 1.0;
        if admits {
            self.left -= 1.0;
        }
        admits
    }

    fn entered(&mut self, page: Page) {
        self.rule.entered(page);
    }

    fn left(&mut self, page: Page) {
        self.rule.left(page);
    }

    fn requested(&mut self, page: Page, found: Found, at: Nanos) {
        self.rule.requested(page, found, at);
    }

    fn rewritten(&mut self, page: Page, at: Nanos) {
        self.refill(at);
        // It may go below zero: what is written too much now is missing later.
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
    use crate::model::admission::Always;

    #[test]
    fn writes_stay_within_the_rate() {
        let second = Nanos::from_millis(1_000);
        let mut rule = Budget::new(Always, 2, second);
        let mut admits = |millis| {
            let at = Nanos::from_millis(millis);
            rule.admits(Eviction { page: Page(1), dirty: true, at })
        };
        assert_eq!([0, 1, 2].map(&mut admits), [true, true, false]);
        assert_eq!([600, 601].map(&mut admits), [true, false], "half a second gives one");
        assert_eq!([9_000, 9_000, 9_000].map(&mut admits), [true, true, false]);
        rule.rewritten(Page(1), Nanos::from_millis(9_100));
        let at = Nanos::from_millis(9_500);
        assert!(!rule.admits(Eviction { page: Page(1), dirty: true, at }), "it is owed");
    }
}
