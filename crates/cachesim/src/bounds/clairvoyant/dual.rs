//! The lower bound by Lagrangian relaxation: the cost of a tier of unbounded size whose places have
//! a price, less the rent of the `N` places that exist.
//!
//! A schedule that uses `N` places pays at most `N` rents. So at any prices, the sum of the
//! cheapest costs of all pages, rents included, less `N` rents, is at most the cost of any schedule
//! (Lagrangian relaxation of the capacity). The subgradient method looks for better prices: it
//! raises the price of a span in which more places are wanted than exist, and lowers it where fewer
//! are wanted. The bound holds for any prices.

use super::history::Histories;
use super::path::{Held, cheapest};
use super::prices::{ONE, Prices};

/// All pages or a sample of them, and the number of the tier's places that they stand for.
pub(super) struct Problem<'a> {
    pub(super) histories: &'a Histories,
    pub(super) pages: Pages<'a>,
    pub(super) places: f64,
    /// Cost of a write of the tier.
    pub(super) write: i64,
}

#[derive(Clone, Copy)]
pub(super) enum Pages<'a> {
    All,
    Sample(&'a [u32]),
}

/// A lower bound and its subgradient.
pub(super) struct Bound {
    pub(super) lower_bound: f64,
    /// For each span the places wanted less the places that exist, summed over its events.
    slope: Vec<f64>,
}

impl Problem<'_> {
    /// The bound at these prices.
    pub(super) fn bound(&self, prices: &Prices) -> Bound {
        let mut total = 0i128;
        let mut wanted = Wanted::new(prices.spans());
        let mut steps = Vec::new();
        self.each(|page| {
            let history = self.histories.page(page);
            steps.clear();
            // Steps come from the last event to the first.
            let cost = cheapest(history, prices, self.write, |_, step| steps.push(step));
            total += i128::from(cost);
            let mut before = Held::Out;
            for (event, step) in history.iter().zip(steps.iter().rev()) {
                let held = step.next(event.kind(), before);
                match (before == Held::Out, held == Held::Out) {
                    (true, false) => wanted.more(prices, event.time()),
                    (false, true) => wanted.less(prices, event.time()),
                    _ => {}
                }
                before = held;
            }
        });
        let slope = wanted.slope(prices, self.places);
        Bound { lower_bound: self.less_rents(total, prices), slope }
    }

    /// The bound alone, without the slope.
    pub(super) fn lower_bound(&self, prices: &Prices) -> f64 {
        let mut total = 0i128;
        self.each(|page| {
            let history = self.histories.page(page);
            total += i128::from(cheapest(history, prices, self.write, |_, _| {}));
        });
        self.less_rents(total, prices)
    }

    fn less_rents(&self, total: i128, prices: &Prices) -> f64 {
        // The number of places is whole if the problem has all pages.
        let rents = match self.pages {
            Pages::All => i128::from(prices.total()) * self.places as i128,
            Pages::Sample(_) => (prices.total() as f64 * self.places) as i128,
        };
        (total - rents) as f64 / ONE as f64
    }

    fn each(&self, mut page: impl FnMut(u32)) {
        match self.pages {
            Pages::All => (0..self.histories.footprint()).for_each(page),
            Pages::Sample(pages) => pages.iter().for_each(|of| page(*of)),
        }
    }
}

impl Bound {
    /// Whether more places are wanted than exist, over all spans.
    pub(super) fn rises(&self) -> bool {
        self.slope.iter().sum::<f64>() > 0.0
    }
}

/// The direction in which prices move: the slope, deflected if the last step overshot (Camerini,
/// Fratta, Maffioli, *On improving relaxation methods by modified gradient techniques*, 1975).
#[derive(Default)]
pub(super) struct Direction(Vec<f64>);

impl Direction {
    /// Takes `share` of the step that would bring the bound to `target` if it were linear (Polyak's
    /// step).
    pub(super) fn step(&mut self, bound: &Bound, prices: &mut Prices, target: f64, share: f64) {
        self.0.resize(bound.slope.len(), 0.0);
        let along: f64 = self.0.iter().zip(&bound.slope).map(|(one, other)| one * other).sum();
        let length: f64 = self.0.iter().map(|one| one * one).sum();
        let keep = if along < 0.0 { -1.5 * along / length } else { 0.0 };
        for (direction, slope) in self.0.iter_mut().zip(&bound.slope) {
            *direction = *direction * keep + slope;
        }
        // A price of zero cannot fall.
        let moves = |span: usize| self.0[span] > 0.0 || prices.rate(span) > 0.0;
        let norm = (0..self.0.len()).filter(|span| moves(*span)).map(|span| self.0[span].powi(2));
        let step = share * (target - bound.lower_bound) * ONE as f64 / norm.sum::<f64>();
        if step.is_finite() {
            prices.change(|span, price| price + step * self.0[span]);
        }
    }
}

/// The number of places wanted in each span.
struct Wanted {
    /// Changes from an event to the end of its span, weighted by their length.
    within: Vec<i64>,
    /// Changes that hold from a span on.
    onwards: Vec<i64>,
}

impl Wanted {
    fn new(spans: usize) -> Self {
        Self { within: vec![0; spans + 1], onwards: vec![0; spans + 1] }
    }

    fn more(&mut self, prices: &Prices, time: u32) {
        let (span, within) = prices.place(time);
        self.within[span] += i64::from(prices.length(span) - within);
        self.onwards[span + 1] += 1;
    }

    fn less(&mut self, prices: &Prices, time: u32) {
        let (span, within) = prices.place(time);
        self.within[span] -= i64::from(prices.length(span) - within);
        self.onwards[span + 1] -= 1;
    }

    fn slope(&self, prices: &Prices, places: f64) -> Vec<f64> {
        let mut held = 0;
        let slope = |span: usize| {
            held += self.onwards[span];
            let length = prices.length(span);
            (self.within[span] + held * i64::from(length)) as f64 - places * f64::from(length)
        };
        (0..prices.spans()).map(slope).collect()
    }
}
