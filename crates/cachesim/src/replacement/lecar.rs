//! `LeCaR`: chooses between the victims of LRU and of LFU at random, with weights that it learns from
//! the evictions that it regrets.
//!
//! Source: Vietri et al., *Driving Cache Replacement with ML-based `LeCaR`*, `HotStorage` 2018, with
//! the learning rate, the discount rate, the bounds of the weights and the size of the histories as
//! in the authors' program (<https://github.com/sylab/cacheus>). A page that comes back from a
//! history keeps its number of requests. Of the pages with the fewest requests, LFU's victim is the
//! one whose last request is longest ago.

use super::Replacement;
use super::indexed_heap::IndexedHeap;
use super::lists::{ABSENT, Lists};
use super::parameters::{Share, Slot};
use super::random::Random;
use crate::page::{Page, Space};

/// In the cache.
const CACHED: u8 = 1;
/// Remembered: LRU chose it.
const BY_LRU: u8 = 2;
/// Remembered: LFU chose it.
const BY_LFU: u8 = 3;

const LEARNING_RATE: f64 = 0.45;
/// The natural logarithm of 0.005, to which a regret decays within as many requests as pages fit.
const LN_DISCOUNT: f64 = -5.298_317_366_548_036;
const LEAST_WEIGHT: f64 = 0.01;

/// The parameters of `LeCaR`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Parameters {
    /// The size of each history, for each page that fits.
    pub history: Share,
    /// The seed of the choices.
    pub seed: u8,
}

impl Parameters {
    /// The values of the authors' program, and the first seed.
    pub const PAPER: Self = Self { history: Share::percent(50), seed: 0 };

    pub(super) fn slots(&mut self) -> Vec<(&'static str, Slot<'_>)> {
        vec![
            ("history", Slot::Share(&mut self.history, 0.0..=1_000.0)),
            ("seed", Slot::Count(&mut self.seed, 0..=u8::MAX)),
        ]
    }
}

/// What is known of a page in the cache or a history.
#[derive(Clone, Copy)]
struct Known {
    requests: u32,
    /// The request for which it left the cache. Wraps.
    left: u32,
}

/// The cache by last request and by number of requests, and the two histories.
pub struct LeCar {
    space: Space,
    max_history: u32,
    random: Random,
    /// The number of the current request.
    now: u64,
    /// The probability that LRU chooses.
    weight: f64,
    known: Box<[Known]>,
    lists: Lists<3>,
    ranks: IndexedHeap<(u32, u64)>,
}

impl LeCar {
    /// An empty cache, as in the paper.
    pub fn new(space: Space) -> Self {
        Self::with(space, Parameters::PAPER)
    }

    /// An empty cache with these parameters.
    pub fn with(space: Space, parameters: Parameters) -> Self {
        let unknown = Known { requests: 0, left: 0 };
        Self {
            space,
            max_history: parameters.history.of(space),
            random: Random::new(parameters.seed),
            now: 0,
            weight: 0.5,
            known: vec![unknown; space.footprint() as usize].into_boxed_slice(),
            lists: Lists::new(space),
            ranks: IndexedHeap::new(space),
        }
    }

    fn count(&mut self, page: Page) {
        let requests = &mut self.known[page.index()].requests;
        *requests = requests.saturating_add(1);
        self.ranks.set(page, (*requests, self.now));
    }

    fn evict(&mut self) -> Option<Page> {
        let share = self.random.share();
        let (recent, frequent) = (self.lists.back(CACHED)?, self.ranks.first()?);
        let (victim, history) = if recent == frequent {
            (recent, ABSENT)
        } else if share < self.weight {
            (recent, BY_LRU)
        } else {
            (frequent, BY_LFU)
        };
        self.ranks.take(victim);
        if history == ABSENT || self.max_history == 0 {
            self.lists.take(victim);
        } else {
            if self.lists.len(history) == self.max_history {
                self.lists.pop_back(history);
            }
            self.lists.move_to_front(history, victim);
            self.known[victim.index()].left = self.now as u32;
        }
        Some(victim)
    }

    /// Lowers the weight of the policy that evicted a page which is requested again.
    fn regret(&mut self, history: u8, left: u32) {
        let since = (self.now as u32).wrapping_sub(left);
        let regret = exp(LN_DISCOUNT * f64::from(since) / f64::from(self.space.capacity()));
        let less = exp(-LEARNING_RATE * regret);
        let (lru, lfu) = match history {
            BY_LRU => (self.weight * less, 1.0 - self.weight),
            _ => (self.weight, (1.0 - self.weight) * less),
        };
        self.weight = (lru / (lru + lfu)).clamp(LEAST_WEIGHT, 1.0 - LEAST_WEIGHT);
    }
}

impl Replacement for LeCar {
    fn contains(&self, page: Page) -> bool {
        self.lists.of(page) == CACHED
    }

    fn hit(&mut self, page: Page) {
        self.now += 1;
        self.lists.move_to_front(CACHED, page);
        self.count(page);
    }

    fn admit(&mut self, page: Page) -> Option<Page> {
        self.now += 1;
        match self.lists.take(page) {
            ABSENT => self.known[page.index()].requests = 0,
            history => self.regret(history, self.known[page.index()].left),
        }
        let full = self.len() == self.space.capacity();
        let victim = if full { self.evict() } else { None };
        self.lists.push_front(CACHED, page);
        self.count(page);
        victim
    }

    fn remove(&mut self, page: Page) -> bool {
        self.lists.take(page);
        self.ranks.take(page)
    }

    fn len(&self) -> u32 {
        self.lists.len(CACHED)
    }

    fn space(&self) -> Space {
        self.space
    }

    fn bytes(&self) -> usize {
        size_of_val(&*self.known) + self.lists.bytes() + self.ranks.bytes()
    }
}

/// e to a power that is not positive, with the same digits on every machine: the C library's differ.
fn exp(power: f64) -> f64 {
    const HALVINGS: i32 = 10;
    if power < -700.0 {
        return 0.0;
    }
    let small = power / f64::from(1 << HALVINGS);
    let series = (1..=12).rev().fold(1.0, |sum, n| 1.0 + sum * small / f64::from(n));
    (0..HALVINGS).fold(series, |product, _| product * product)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn powers_are_those_of_the_c_library() {
        for thousandth in 0..20_000 {
            let power = f64::from(-thousandth) / 1_000.0;
            let (ours, theirs) = (exp(power), power.exp());
            assert!((ours - theirs).abs() <= 1e-11 * theirs, "{power}: {ours}, {theirs}");
        }
        assert!(exp(-1e9) == 0.0);
    }
}
