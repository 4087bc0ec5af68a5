//! The price of a place in the tier from one event to the next.

/// The cost of one access to storage in fixed point. Sums of integers do not depend on their order
/// and round nothing.
pub(super) const ONE: i64 = 1 << 24;

/// The highest price of a place for one event. It is more than a place can save, and the total for
/// a whole stream stays far below 2^63.
const HIGHEST: f64 = (128 * ONE) as f64;

/// A price for each of several spans of time of equal length.
#[derive(Clone)]
pub(super) struct Prices {
    /// A span has `1 << shift` events.
    shift: u32,
    end: u32,
    /// The price of one place for one event in each span; 0 after the last one.
    rates: Vec<f64>,
    /// The price of a place from the beginning to the start of each span.
    sums: Vec<f64>,
}

impl Prices {
    /// One constant price for a stream of `end` events.
    pub(super) fn constant(end: u32, rate: f64) -> Self {
        let shift = end.max(1).ilog2() + 1;
        let mut prices = Self { shift, end, rates: vec![rate, 0.0], sums: Vec::new() };
        prices.sum();
        prices
    }

    /// The same prices in finer spans, at most `most` of them.
    pub(super) fn finer(&self, most: usize) -> Self {
        let mut shift = self.shift;
        while shift > 0 && (self.end as usize).div_ceil(1 << (shift - 1)) <= most {
            shift -= 1;
        }
        let spans = (self.end as usize).div_ceil(1 << shift);
        let rate = |span: usize| self.rates[span >> (self.shift - shift)];
        let rates = (0..spans).map(rate).chain([0.0]).collect();
        let mut prices = Self { shift, end: self.end, rates, sums: Vec::new() };
        prices.sum();
        prices
    }

    /// The price of a place from the beginning to an event. It never falls from one event to the
    /// next, even when rounded; the bound needs nothing else.
    pub(super) fn at(&self, time: u32) -> i64 {
        let (span, within) = self.place(time);
        (self.sums[span] + self.rates[span] * f64::from(within)) as i64
    }

    /// The price of a place from the beginning to the end.
    pub(super) fn total(&self) -> i64 {
        self.at(self.end)
    }

    /// The span of an event, and how many events of the span are before it.
    pub(super) fn place(&self, time: u32) -> (usize, u32) {
        ((time >> self.shift) as usize, time & ((1 << self.shift) - 1))
    }

    /// The price per event in a span.
    pub(super) fn rate(&self, span: usize) -> f64 {
        self.rates[span]
    }

    pub(super) fn spans(&self) -> usize {
        self.rates.len() - 1
    }

    /// How many events a span has.
    pub(super) fn length(&self, span: usize) -> u32 {
        let begin = (span as u64) << self.shift;
        (u64::from(self.end) - begin).min(1 << self.shift) as u32
    }

    /// Replaces each price by `price(span, former)`, clamped to 0..=[`HIGHEST`].
    pub(super) fn change(&mut self, price: impl Fn(usize, f64) -> f64) {
        let spans = self.spans();
        for (span, rate) in self.rates[..spans].iter_mut().enumerate() {
            let other = price(span, *rate);
            if other.is_finite() {
                *rate = other.clamp(0.0, HIGHEST);
            }
        }
        self.sum();
    }

    fn sum(&mut self) {
        let mut sum = 0.0;
        self.sums.clear();
        for span in 0..self.spans() {
            self.sums.push(sum);
            sum += self.rates[span] * f64::from(self.length(span));
        }
        self.sums.push(sum);
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn the_price_up_to_an_event_never_falls(
            end in 0..3_000u32, rates in prop::collection::vec(0.0..1e12, 1..20),
        ) {
            for most in [0, 7, 100, 5_000] {
                let mut prices = Prices::constant(end, rates[0]).finer(most);
                let spans: u64 = (0..prices.spans()).map(|span| u64::from(prices.length(span))).sum();
                prop_assert_eq!(spans, u64::from(end));
                prices.change(|span, _| rates[span % rates.len()]);
                let costs: Vec<i64> = (0..=end).map(|time| prices.at(time)).collect();
                prop_assert!(costs.is_sorted());
                prop_assert_eq!(*costs.last().unwrap(), prices.total());
            }
        }
    }
}
