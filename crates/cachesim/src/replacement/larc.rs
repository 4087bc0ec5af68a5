//! LARC: admits a page at its second miss if that is soon enough after the first. How soon adapts
//! to the hit ratio.
//!
//! Source: Huang, Wei, Chen, Chen, Feng, *Improving Flash-based Disk Cache with Lazy
//! Adaptive Replacement*, MSST 2013. The list of candidates has between 10 % and
//! 90 % of the capacity; here it has room for at least one page.

use super::Replacement;
use super::lists::Lists;
use crate::page::{Page, Space};

const CACHED: u8 = 1;
/// Missed once, not in the cache.
const CANDIDATE: u8 = 2;

/// The cache Q and the candidates Qr, the latest in front.
pub struct Larc {
    space: Space,
    /// The most candidates, in pages.
    candidate_limit: f64,
    lists: Lists<2>,
}

impl Larc {
    /// An empty cache.
    pub fn new(space: Space) -> Self {
        Self { space, candidate_limit: 0.1 * f64::from(space.capacity()), lists: Lists::new(space) }
    }

    fn propose(&mut self, page: Page) {
        self.lists.push_front(CANDIDATE, page);
        while f64::from(self.lists.len(CANDIDATE)) > self.candidate_limit.max(1.0) {
            if self.lists.pop_back(CANDIDATE).is_none() {
                break;
            }
        }
    }
}

impl Replacement for Larc {
    fn contains(&self, page: Page) -> bool {
        self.lists.of(page) == CACHED
    }

    fn hit(&mut self, page: Page) {
        let capacity = f64::from(self.space.capacity());
        let smaller = self.candidate_limit - capacity / (capacity - self.candidate_limit);
        self.candidate_limit = smaller.max(0.1 * capacity);
        self.lists.move_to_front(CACHED, page);
    }

    fn admit(&mut self, page: Page) -> Option<Page> {
        let capacity = f64::from(self.space.capacity());
        self.candidate_limit =
            (self.candidate_limit + capacity / self.candidate_limit).min(0.9 * capacity);
        if self.lists.take(page) != CANDIDATE {
            self.propose(page);
            return Some(page);
        }
        let full = self.len() == self.space.capacity();
        let victim = if full { self.lists.pop_back(CACHED) } else { None };
        self.lists.push_front(CACHED, page);
        victim
    }

    fn remove(&mut self, page: Page) -> bool {
        self.lists.take(page) == CACHED
    }

    fn len(&self) -> u32 {
        self.lists.len(CACHED)
    }

    fn space(&self) -> Space {
        self.space
    }

    fn bytes(&self) -> usize {
        self.lists.bytes()
    }
}
