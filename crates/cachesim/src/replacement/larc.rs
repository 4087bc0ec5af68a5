//! LARC: admits a page at its second miss if that is soon enough after the first. How soon adapts
//! to the hit ratio.
//!
//! Source: Huang, Wei, Chen, Chen, Feng, *Improving Flash-based Disk Cache with Lazy
//! Adaptive Replacement*, MSST 2013. The list of candidates has between 10 % and
//! 90 % of the capacity; here it has room for at least one page.

use super::Replacement;
use super::links::{Links, List};
use crate::page::{Page, Space};

const ABSENT: u8 = 0;
const CACHED: u8 = 1;
/// Missed once, not in the cache.
const CANDIDATE: u8 = 2;

/// The cache Q and the candidates Qr, the latest in front.
pub struct Larc {
    space: Space,
    /// The most candidates, in pages.
    candidate_limit: f64,
    cached: u32,
    candidates: u32,
    states: Box<[u8]>,
    links: Links<2>,
}

impl Larc {
    /// An empty cache.
    pub fn new(space: Space) -> Self {
        Self {
            space,
            candidate_limit: 0.1 * f64::from(space.capacity()),
            cached: 0,
            candidates: 0,
            states: vec![ABSENT; space.footprint() as usize].into_boxed_slice(),
            links: Links::new(space),
        }
    }

    fn propose(&mut self, page: Page) {
        self.states[page.index()] = CANDIDATE;
        self.links.push_front(self.list(CANDIDATE), page);
        self.candidates += 1;
        while f64::from(self.candidates) > self.candidate_limit.max(1.0) {
            let Some(oldest) = self.links.back(self.list(CANDIDATE)) else { break };
            self.take(oldest);
        }
    }

    fn take(&mut self, page: Page) -> u8 {
        let state = std::mem::replace(&mut self.states[page.index()], ABSENT);
        match state {
            CACHED => self.cached -= 1,
            CANDIDATE => self.candidates -= 1,
            _ => return ABSENT,
        }
        self.links.unlink(page);
        state
    }

    fn list(&self, state: u8) -> List {
        self.links.list(u32::from(state) - 1)
    }
}

impl Replacement for Larc {
    fn contains(&self, page: Page) -> bool {
        self.states[page.index()] == CACHED
    }

    fn hit(&mut self, page: Page) {
        let capacity = f64::from(self.space.capacity());
        let smaller = self.candidate_limit - capacity / (capacity - self.candidate_limit);
        self.candidate_limit = smaller.max(0.1 * capacity);
        self.links.move_to_front(self.list(CACHED), page);
    }

    fn admit(&mut self, page: Page) -> Option<Page> {
        let capacity = f64::from(self.space.capacity());
        self.candidate_limit =
            (self.candidate_limit + capacity / self.candidate_limit).min(0.9 * capacity);
        if self.take(page) != CANDIDATE {
            self.propose(page);
            return Some(page);
        }
        let full = self.cached == self.space.capacity();
        let victim = if full { self.links.back(self.list(CACHED)) } else { None };
        if let Some(victim) = victim {
            self.take(victim);
        }
        self.states[page.index()] = CACHED;
        self.links.push_front(self.list(CACHED), page);
        self.cached += 1;
        victim
    }

    fn remove(&mut self, page: Page) -> bool {
        self.take(page) == CACHED
    }

    fn len(&self) -> u32 {
        self.cached
    }

    fn space(&self) -> Space {
        self.space
    }

    fn bytes(&self) -> usize {
        size_of_val(&*self.states) + self.links.bytes()
    }
}
