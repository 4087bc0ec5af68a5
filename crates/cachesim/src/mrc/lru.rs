//! The misses of LRU caches of all sizes, in one pass.

use super::distance::StackDistance;
use crate::page::Page;

/// How often each stack distance was seen.
pub struct LruCurve {
    distance: StackDistance,
    /// Requests at each distance.
    seen: Box<[u64]>,
    requests: u64,
}

impl LruCurve {
    /// No requests so far, for pages below the footprint.
    pub fn new(footprint: u32) -> Self {
        let seen = vec![0; footprint as usize].into_boxed_slice();
        Self { distance: StackDistance::new(footprint), seen, requests: 0 }
    }

    /// Takes a request.
    pub fn request(&mut self, page: Page) {
        self.requests += 1;
        if let Some(distance) = self.distance.request(page) {
            self.seen[distance as usize] += 1;
        }
    }

    /// The number of requests so far.
    pub fn requests(&self) -> u64 {
        self.requests
    }

    /// Misses of caches with room for 0, 1, 2 … pages, up to the footprint.
    pub fn misses(&self) -> impl Iterator<Item = u64> {
        let hits = self.seen.iter().scan(0, |hits, seen| {
            *hits += seen;
            Some(*hits)
        });
        std::iter::once(0).chain(hits).map(|hits| self.requests - hits)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::page::Space;
    use crate::replacement::{Lru, Replacement};

    #[test]
    fn the_curve_is_that_of_caches_of_each_size() {
        let pages: Vec<Page> =
            (0..5_000u32).map(|at| Page(at * at % 211 % (1 + at % 97))).collect();
        let mut curve = LruCurve::new(97);
        for page in &pages {
            curve.request(*page);
        }
        assert_eq!(curve.requests(), 5_000);
        let misses: Vec<u64> = curve.misses().collect();
        assert_eq!((misses.len(), misses[0]), (98, 5_000));
        for (capacity, misses) in (1..98u64).zip(&misses[1..]) {
            let mut lru = Lru::new(Space::new(capacity, 97).unwrap());
            assert_eq!(*misses, lru.misses(pages.iter().copied()), "{capacity}");
        }
    }
}
