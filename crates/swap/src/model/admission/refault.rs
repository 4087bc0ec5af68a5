//! Who came back soon after its last eviction.
//!
//! A page that memory asks for again before many others were evicted would have
//! been found in the tier, had it been there; one that stays away for long would
//! only have taken room. So a page may enter at its next eviction if it came back
//! soon after the last one: what Linux does to tell which file pages it evicted
//! too early (`mm/workingset.c`), one level down.
//!
//! Four bits a page: when it was evicted, in spans of an eighth of the window,
//! or whether it came back soon. Spans are told apart for nearly two windows; a
//! hand goes over all pages meanwhile and forgets what is older, some pages at
//! each eviction, so that no eviction takes longer than another.

use unjank_host::Nanos;

use super::{Admission, Eviction};
use crate::model::nibbles::Nibbles;
use crate::model::page::Page;

/// Nothing is known, or it came back late.
const UNKNOWN: u8 = 0;
/// It came back soon.
const SOON: u8 = 15;
/// Spans that are told apart: the values between.
const SPANS: u8 = 14;
/// Spans of a window.
const OF_WINDOW: u8 = 8;

/// Remembers when pages were evicted.
#[derive(Debug, Clone)]
pub struct Refault {
    states: Nibbles,
    footprint: u32,
    /// Evictions of a span, and those left of this one.
    of_span: u32,
    left: u32,
    /// The span that is under way: 1 to [`SPANS`].
    span: u8,
    /// The next page that the hand looks at, and how many it looks at each time.
    hand: u32,
    looks: u32,
}

impl Refault {
    /// A rule for which soon is within `window` evictions.
    pub fn new(footprint: u32, window: u32) -> Self {
        let of_span = (window / u32::from(OF_WINDOW)).max(1);
        // All pages are looked at while the spans go from one window to the end of
        // those that can be told apart.
        let time = of_span.saturating_mul(u32::from(SPANS - OF_WINDOW - 2)).max(1);
        Self {
            states: Nibbles::new(footprint),
            footprint,
            of_span,
            left: of_span,
            span: 1,
            hand: 0,
            looks: footprint.div_ceil(time),
        }
    }

    /// Takes note of an eviction.
    fn pass(&mut self) {
        for _ in 0..self.looks {
            let page = Page(self.hand);
            let state = self.states.get(page);
            if state != SOON && state != UNKNOWN && self.age(state) > OF_WINDOW {
                self.states.set(page, UNKNOWN);
            }
            self.hand = (self.hand + 1) % self.footprint;
        }
        self.left -= 1;
        if self.left == 0 {
            self.left = self.of_span;
            self.span = self.span % SPANS + 1;
        }
    }

    /// How many spans ago `span` was.
    fn age(&self, span: u8) -> u8 {
        (self.span + SPANS - span) % SPANS
    }
}

impl Admission for Refault {
    fn admits(&mut self, eviction: Eviction) -> bool {
        let soon = self.states.get(eviction.page) == SOON;
        // Whether it is let in or not, what counts next is when it comes back.
        self.states.set(eviction.page, self.span);
        self.pass();
        soon
    }

    fn requested(&mut self, page: Page, _: Nanos) {
        let state = self.states.get(page);
        if state != SOON {
            let soon = state != UNKNOWN && self.age(state) <= OF_WINDOW;
            self.states.set(page, if soon { SOON } else { UNKNOWN });
        }
    }

    fn rewritten(&mut self, page: Page, _: Nanos) {
        self.states.set(page, self.span);
        self.pass();
    }

    fn dropped(&mut self, page: Page, _: Nanos) {
        self.states.set(page, self.span);
        self.pass();
    }

    fn gone(&mut self, page: Page) {
        self.states.set(page, UNKNOWN);
    }

    fn bytes(&self) -> usize {
        self.states.bytes()
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::model::admission::tests::evict;

    #[test]
    fn who_came_back_soon_enters_at_the_next_eviction() {
        let mut rule = Refault::new(1_000, 80);
        assert!(!evict(&mut rule, 1));
        rule.requested(Page(1), Nanos::ZERO);
        assert!(evict(&mut rule, 1), "nothing was evicted meanwhile");
        rule.requested(Page(1), Nanos::ZERO);
        assert!(evict(&mut rule, 1), "and again");
        for other in 100..250 {
            evict(&mut rule, other);
        }
        rule.requested(Page(1), Nanos::ZERO);
        assert!(!evict(&mut rule, 1), "it came back late");
        rule.requested(Page(1), Nanos::ZERO);
        rule.gone(Page(1));
        assert!(!evict(&mut rule, 1), "another page has its number");
        assert_eq!(rule.bytes(), 500, "four bits a page");
    }

    proptest! {
        #[test]
        fn what_is_soon_is_known_to_two_spans(
            window in 16_u32..200,
            footprint in 1_000_u32..3_000,
            away in 1_u32..900,
            before in 0_u32..900,
        ) {
            let mut rule = Refault::new(footprint, window);
            // Others are evicted once each, so that they are all the same.
            let mut others = (1..footprint).cycle();
            for _ in 0..before {
                evict(&mut rule, others.next().unwrap());
            }
            evict(&mut rule, 0);
            for _ in 0..away {
                evict(&mut rule, others.next().unwrap());
            }
            rule.requested(Page(0), Nanos::ZERO);
            let soon = evict(&mut rule, 0);
            let span = (window / 8).max(1);
            if away + 2 * span < window {
                prop_assert!(soon);
            }
            if away > span * 8 + 2 * span {
                prop_assert!(!soon);
            }
        }
    }
}
