//! Exact counts of recent requests per page: small counters that are halved periodically.

use super::counts::Counts;
use crate::page::{Page, Space};

/// Counters saturate here, as those of four bits do.
const MAX: u32 = 15;
const COUNT_BITS: u32 = 4;

/// An exact counter for each page, where a sketch shares counters. It takes four bytes per page and
/// has no collisions.
///
/// A counter is halved when it is read: its upper bits hold the period of the last update (periods
/// wrap after 2^28). So no request waits until all counters are halved.
pub struct Frequency {
    counters: Box<[u32]>,
    period: u32,
    /// Requests until the end of the period.
    left: u64,
    sample: u64,
}

impl Frequency {
    fn set(&mut self, page: Page, count: u32) {
        self.counters[page.index()] = self.period << COUNT_BITS | count;
    }
}

impl Counts for Frequency {
    /// Counters at zero. They are halved first after `sample` requests and then after half as many,
    /// because they still hold half of each count.
    fn new(space: Space, sample: u64) -> Self {
        let counters = vec![0; space.footprint() as usize].into_boxed_slice();
        Self { counters, period: 0, left: sample, sample }
    }

    fn count(&mut self, page: Page) {
        let count = (self.of(page) + 1).min(MAX);
        self.set(page, count);
        self.left -= 1;
        if self.left == 0 {
            self.period = (self.period + 1) & (u32::MAX >> COUNT_BITS);
            self.left = (self.sample / 2).max(1);
        }
    }

    fn of(&self, page: Page) -> u32 {
        let counter = self.counters[page.index()];
        let periods = self.period.wrapping_sub(counter >> COUNT_BITS) & (u32::MAX >> COUNT_BITS);
        (counter & MAX) >> periods.min(COUNT_BITS)
    }

    fn forget(&mut self, page: Page) {
        self.set(page, 0);
    }

    fn bytes(&self) -> usize {
        size_of_val(&*self.counters)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_saturate_and_are_halved() {
        let mut frequency = Frequency::new(Space::new(10, 3).unwrap(), 40);
        for _ in 0..20 {
            frequency.count(Page(0));
        }
        for _ in 0..19 {
            frequency.count(Page(1));
        }
        frequency.forget(Page(1));
        assert_eq!((frequency.of(Page(0)), frequency.of(Page(1))), (15, 0));
        frequency.count(Page(2));
        assert_eq!((frequency.of(Page(0)), frequency.of(Page(2))), (7, 0));
        for _ in 0..20 {
            frequency.count(Page(2));
        }
        assert_eq!((frequency.of(Page(0)), frequency.of(Page(2))), (3, 7));
    }
}
