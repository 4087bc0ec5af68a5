//! The search for good prices, in a limited number of passes over the events.

use super::Costs;
use super::dual::{Direction, Pages, Problem};
use super::prices::{ONE, Prices};
use super::schedule::{self, Worth};
use crate::page::Space;
use crate::paging::PagingEvent;
use crate::tier::Traffic;

/// Spans of time with a price each.
const SPANS: usize = 16_384;
/// Steps towards better prices, and their minimum for very long streams.
const STEPS: u64 = 60;
const FEWEST_STEPS: u64 = 8;
/// Events to process in all steps together.
const WORK: u64 = 1 << 29;
/// The minimum number of places for a sample of the pages: with fewer, its most popular pages
/// would set the prices.
const SAMPLED_PLACES: f64 = 1_000.0;
/// The approximate number of events of a sample.
const SAMPLED_EVENTS: u32 = 1 << 22;

pub(super) struct Bracket {
    pub(super) lower_bound: f64,
    pub(super) schedule: Traffic,
}

/// Looks for a high bound and a cheap schedule.
pub(super) fn search(
    stream: &[PagingEvent],
    space: Space,
    problem: &Problem<'_>,
    costs: Costs,
) -> Bracket {
    let cost = |schedule: &Traffic| costs.of(schedule);
    let run = |prices: &Prices| {
        let worth = Worth::of(problem.histories, prices, problem.write);
        schedule::run(stream, space, (problem.histories, &worth), prices, problem.write, |_| {})
    };
    let sample = sample(problem);
    let sampled = match &sample {
        Some((pages, places)) => {
            Problem { pages: Pages::Sample(pages), places: *places, ..*problem }
        }
        None => Problem { ..*problem },
    };
    let constant = constant(&sampled);
    let first = run(&constant);
    let mut best =
        Best { lower_bound: problem.lower_bound(&constant), prices: constant.finer(SPANS) };
    if sample.is_some() {
        // The sample is about as far from its own optimum as all pages are from theirs.
        let lower_bound = sampled.lower_bound(&constant);
        let target = lower_bound * cost(&first) / best.lower_bound.max(1.0);
        let prices = sampled.climb(Best { lower_bound, ..best.clone() }, target, STEPS).prices;
        let lower_bound = problem.lower_bound(&prices);
        if lower_bound > best.lower_bound {
            best = Best { lower_bound, prices };
        }
    }
    let steps = WORK / u64::from(problem.histories.len().max(1));
    let best = problem.climb(best, cost(&first), steps.clamp(FEWEST_STEPS, STEPS));
    let second = run(&best.prices);
    let schedule = if cost(&second) < cost(&first) { second } else { first };
    Bracket { lower_bound: best.lower_bound, schedule }
}

/// Prices and their bound.
#[derive(Clone)]
struct Best {
    lower_bound: f64,
    prices: Prices,
}

impl Problem<'_> {
    /// Climbs to better prices; `target` is the cost of a known schedule.
    fn climb(&self, mut best: Best, target: f64, steps: u64) -> Best {
        let (mut prices, mut direction) = (best.prices.clone(), Direction::default());
        let (mut share, mut in_vain) = (1.0, 0);
        for _ in 0..steps {
            let bound = self.bound(&prices);
            in_vain = if bound.lower_bound > best.lower_bound * 1.000_5 { 0 } else { in_vain + 1 };
            if bound.lower_bound > best.lower_bound {
                best = Best { lower_bound: bound.lower_bound, prices: prices.clone() };
            }
            if in_vain == 5 {
                share /= 2.0;
                in_vain = 0;
            }
            direction.step(&bound, &mut prices, target, share);
        }
        best
    }
}

/// A sample of the pages and its number of places, if all events would take too long.
fn sample(problem: &Problem<'_>) -> Option<(Vec<u32>, f64)> {
    let most = (problem.places / SAMPLED_PLACES) as u32;
    let of = (problem.histories.len() / SAMPLED_EVENTS).min(most);
    if of < 2 {
        return None;
    }
    // Multiplication by 2^32 over the golden ratio separates neighbours.
    let pages = (0..problem.histories.footprint())
        .filter(|page| page.wrapping_mul(0x9E37_79B9) < u32::MAX / of)
        .collect();
    Some((pages, problem.places / f64::from(of)))
}

/// The best constant price: at a lower one more places are wanted than exist.
fn constant(problem: &Problem<'_>) -> Prices {
    let end = problem.histories.len();
    let at = |power: f64| Prices::constant(end, ONE as f64 * power.exp2());
    let (mut low, mut high) = (-40.0, 2.0);
    for _ in 0..16 {
        let middle = f64::midpoint(low, high);
        if problem.bound(&at(middle)).rises() {
            low = middle;
        } else {
            high = middle;
        }
    }
    at(low)
}
