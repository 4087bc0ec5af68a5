//! LFU with dynamic ageing: evicts the page of the lowest rank, so that pages that were requested often
//! in the past leave as well.
//!
//! Source: Arlitt, Cherkasova, Dilley, Friedrich, Jin, *Evaluating Content Management Techniques for
//! Web Proxy Caches*, Performance Evaluation Review 2000. A page's rank is the number of its requests
//! plus the rank of the page that left last. Of several pages of a rank, the one leaves whose last
//! request is longest ago.

use super::Replacement;
use super::evict_any_time::EvictAnyTime;
use super::indexed_heap::IndexedHeap;
use crate::page::{Page, Space};

/// Rank, and time of the last request.
type Rank = (u64, u64);

/// The pages of the cache by their ranks.
pub struct LfuDa {
    space: Space,
    /// The rank of the page that left last.
    age: u64,
    /// The number of the current request.
    now: u64,
    /// Requests of each page since it came into the cache.
    requests: Box<[u32]>,
    ranks: IndexedHeap<Rank>,
}

impl LfuDa {
    /// An empty cache.
    pub fn new(space: Space) -> Self {
        let requests = vec![0; space.footprint() as usize].into_boxed_slice();
        Self { space, age: 0, now: 0, requests, ranks: IndexedHeap::new(space) }
    }

    fn count(&mut self, page: Page) {
        let requests = &mut self.requests[page.index()];
        *requests = requests.saturating_add(1);
        self.now += 1;
        self.ranks.set(page, (self.age + u64::from(*requests), self.now));
    }
}

impl EvictAnyTime for LfuDa {
    fn evict_one(&mut self) -> Option<Page> {
        let ((rank, _), page) = self.ranks.pop()?;
        self.age = rank;
        Some(page)
    }
}

impl Replacement for LfuDa {
    fn contains(&self, page: Page) -> bool {
        self.ranks.contains(page)
    }

    fn hit(&mut self, page: Page) {
        self.count(page);
    }

    fn admit(&mut self, page: Page) -> Option<Page> {
        let full = self.ranks.len() == self.space.capacity();
        let victim = if full { self.evict_one() } else { None };
        self.requests[page.index()] = 0;
        self.count(page);
        victim
    }

    fn remove(&mut self, page: Page) -> bool {
        self.ranks.take(page)
    }

    fn len(&self) -> u32 {
        self.ranks.len()
    }

    fn space(&self) -> Space {
        self.space
    }

    fn bytes(&self) -> usize {
        size_of_val(&*self.requests) + self.ranks.bytes()
    }
}
