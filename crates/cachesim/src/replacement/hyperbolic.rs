//! Hyperbolic caching: of a sample of pages, evicts the one with the fewest requests for the time
//! since it came into the cache.
//!
//! Source: Blankstein, Sen, Freedman, *Hyperbolic Caching: Flexible Caching for Web Applications*,
//! USENIX ATC 2017: 64 pages are sampled, with replacement. Time is counted in requests.

use super::Replacement;
use super::parameters::Slot;
use super::random::Random;
use super::random_set::RandomSet;
use crate::page::{Page, Space};

/// The parameters of hyperbolic caching.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Parameters {
    /// The number of sampled pages.
    pub sample: u8,
    /// The seed of the samples.
    pub seed: u8,
}

impl Parameters {
    /// The values of the paper, and the first seed.
    pub const PAPER: Self = Self { sample: 64, seed: 0 };

    pub(super) fn slots(&mut self) -> Vec<(&'static str, Slot<'_>)> {
        vec![
            ("sample", Slot::Count(&mut self.sample, 1..=u8::MAX)),
            ("seed", Slot::Count(&mut self.seed, 0..=u8::MAX)),
        ]
    }
}

/// What is known of a page in the cache.
#[derive(Clone, Copy)]
struct Known {
    /// The request with which it came. Wraps.
    since: u32,
    requests: u32,
}

/// The cached pages, and what happened to them.
pub struct Hyperbolic {
    space: Space,
    sample: u8,
    random: Random,
    /// The number of the current request. Wraps.
    now: u32,
    known: Box<[Known]>,
    cached: RandomSet,
}

impl Hyperbolic {
    /// An empty cache, as in the paper.
    pub fn new(space: Space) -> Self {
        Self::with(space, Parameters::PAPER)
    }

    /// An empty cache with these parameters.
    pub fn with(space: Space, parameters: Parameters) -> Self {
        let absent = Known { since: 0, requests: 0 };
        Self {
            space,
            sample: parameters.sample.max(1),
            random: Random::new(parameters.seed),
            now: 0,
            known: vec![absent; space.footprint() as usize].into_boxed_slice(),
            cached: RandomSet::new(space),
        }
    }

    /// The page of the lowest priority in a sample; the first one of several.
    fn victim(&mut self) -> Option<Page> {
        let draw = |_| self.cached.draw(&mut self.random);
        let sampled = (0..self.sample).map(draw);
        // Compares n/t by cross-multiplication, which is exact.
        sampled.reduce(|lowest, page| {
            let [(requests, age), (most, oldest)] = [page, lowest].map(|page| {
                let known = self.known[page.index()];
                (u64::from(known.requests), u64::from(self.now.wrapping_sub(known.since)))
            });
            if requests * oldest < most * age { page } else { lowest }
        })
    }
}

impl Replacement for Hyperbolic {
    fn contains(&self, page: Page) -> bool {
        self.cached.contains(page)
    }

    fn hit(&mut self, page: Page) {
        self.now = self.now.wrapping_add(1);
        let requests = &mut self.known[page.index()].requests;
        *requests = requests.saturating_add(1);
    }

    fn admit(&mut self, page: Page) -> Option<Page> {
        self.now = self.now.wrapping_add(1);
        let mut victim = None;
        if self.len() == self.space.capacity() {
            victim = self.victim();
            if let Some(page) = victim {
                self.cached.take(page);
            }
        }
        self.known[page.index()] = Known { since: self.now, requests: 1 };
        self.cached.add(page);
        victim
    }

    fn remove(&mut self, page: Page) -> bool {
        self.cached.take(page)
    }

    fn len(&self) -> u32 {
        self.cached.len()
    }

    fn space(&self) -> Space {
        self.space
    }

    fn bytes(&self) -> usize {
        size_of_val(&*self.known) + self.cached.bytes()
    }
}
