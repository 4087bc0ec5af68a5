//! What no policy can beat: the cost of a tier without a bound to its size,
//! whose places have a price, less the rent of all the places that there are.
//!
//! Whoever manages with `N` places pays `N` rents at most. So at any prices
//! the cheapest that each page can do by itself, rent and all, less those
//! `N` rents, is no more than what any schedule costs (Lagrangian relaxation of the capacity).
//! The best prices are looked for by the subgradient: a span in which
//! more places are wanted than there are becomes dearer, one in which fewer
//! are wanted becomes cheaper. However good they are, the bound holds.

use super::history::Histories;
use super::path::{Held, cheapest};
use super::prices::{ONE, Prices};

/// All pages, or a part of them, which stand for so many of the tier's places.
pub(super) struct Problem<'a> {
    pub(super) histories: &'a Histories,
    pub(super) pages: Pages<'a>,
    pub(super) places: f64,
    /// What a write of the tier costs.
    pub(super) write: i64,
}

#[derive(Clone, Copy)]
pub(super) enum Pages<'a> {
    All,
    Sample(&'a [u32]),
}

/// A bound, and in which direction it rises.
pub(super) struct Bound {
    pub(super) least: f64,
    /// For each span how many places are wanted more than there are, summed up over its events.
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
            // From the last to the first.
            let cost = cheapest(history, prices, self.write, |_, step| steps.push(step));
            total += i128::from(cost);
            let mut before = Held::Out;
            for (event, step) in history.iter().zip(steps.iter().rev()) {
                let held = step.next(event.happened(), before);
                match (before == Held::Out, held == Held::Out) {
                    (true, false) => wanted.more(prices, event.time()),
                    (false, true) => wanted.less(prices, event.time()),
                    _ => {}
                }
                before = held;
            }
        });
        let slope = wanted.slope(prices, self.places);
        Bound { least: self.less_rents(total, prices), slope }
    }

    /// Only the bound, of all pages and exactly.
    pub(super) fn least(&self, prices: &Prices) -> f64 {
        let mut total = 0i128;
        self.each(|page| {
            let history = self.histories.page(page);
            total += i128::from(cheapest(history, prices, self.write, |_, _| {}));
        });
        self.less_rents(total, prices)
    }

    fn less_rents(&self, total: i128, prices: &Prices) -> f64 {
        // Places are a whole number where all pages are looked at.
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
    /// Whether more places are wanted than there are, all in all.
    pub(super) fn rises(&self) -> bool {
        self.slope.iter().sum::<f64>() > 0.0
    }
}

/// Where prices go: along the slope, bent away from the way back where the last
/// step was too far (Camerini, Fratta, Maffioli, *On improving relaxation
/// methods by modified gradient techniques*, 1975).
#[derive(Default)]
pub(super) struct Direction(Vec<f64>);

impl Direction {
    /// Goes a share of the way on which the bound, were it a plane, would be at `target`
    /// (Polyak's step).
    pub(super) fn step(&mut self, bound: &Bound, prices: &mut Prices, target: f64, share: f64) {
        self.0.resize(bound.slope.len(), 0.0);
        let along: f64 = self.0.iter().zip(&bound.slope).map(|(one, other)| one * other).sum();
        let length: f64 = self.0.iter().map(|one| one * one).sum();
        let keep = if along < 0.0 { -1.5 * along / length } else { 0.0 };
        for (direction, slope) in self.0.iter_mut().zip(&bound.slope) {
            *direction = *direction * keep + slope;
        }
        // Where a price is zero, down leads nowhere.
        let moves = |span: usize| self.0[span] > 0.0 || prices.rate(span) > 0.0;
        let norm = (0..self.0.len()).filter(|span| moves(*span)).map(|span| self.0[span].powi(2));
        let step = share * (target - bound.least) * ONE as f64 / norm.sum::<f64>();
        if step.is_finite() {
            prices.change(|span, price| price + step * self.0[span]);
        }
    }
}

/// How many places are wanted, span by span.
struct Wanted {
    /// From an event to the end of its span.
    within: Vec<i64>,
    /// In all spans from one on.
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
