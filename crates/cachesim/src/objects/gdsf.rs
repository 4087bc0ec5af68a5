//! GDSF: evicts the object with the lowest sum of its requests per byte and the rank of the object
//! that left last, so that small and popular objects stay, and old popularity fades.
//!
//! Source: Cherkasova, *Improving WWW Proxies Performance with Greedy-Dual-Size-Frequency Caching
//! Policy*, HP Laboratories 1998, with the same cost for each object. As in libCacheSim, a new
//! object may itself be the one that leaves.

use super::eviction::Eviction;
use crate::page::{Page, Space, SpaceError};
use crate::replacement::indexed_heap::IndexedHeap;

/// The cost of fetching an object: it only scales the ranks.
const COST: f64 = 1e6;

/// A rank, in an order that is that of the numbers, because none is negative.
fn order(rank: f64) -> u64 {
    rank.to_bits()
}

/// The objects by rank, and by last request where ranks are equal.
pub struct Gdsf {
    /// The rank of the object that left last.
    age: f64,
    /// The number of the current request.
    now: u64,
    known: Box<[Known]>,
    ranks: IndexedHeap<(u64, u64)>,
}

/// What is known of an object.
#[derive(Clone, Copy)]
struct Known {
    size: u32,
    requests: u32,
}

impl Gdsf {
    fn rank(&mut self, object: Page) {
        self.now += 1;
        let known = &mut self.known[object.index()];
        known.requests = known.requests.saturating_add(1);
        let rank = self.age + f64::from(known.requests) * COST / f64::from(known.size.max(1));
        self.ranks.set(object, (order(rank), self.now));
    }
}

impl Eviction for Gdsf {
    const NEW_COMPETES: bool = true;

    fn for_objects(footprint: u32) -> Result<Self, SpaceError> {
        let space = Space::new(u64::from(footprint).max(1), footprint.into())?;
        let known = vec![Known { size: 0, requests: 0 }; footprint as usize].into_boxed_slice();
        Ok(Self { age: 0.0, now: 0, known, ranks: IndexedHeap::new(space) })
    }

    fn contains(&self, object: Page) -> bool {
        self.ranks.contains(object)
    }

    fn hit(&mut self, object: Page) {
        self.rank(object);
    }

    fn insert(&mut self, object: Page, size: u32) {
        self.known[object.index()] = Known { size, requests: 0 };
        self.rank(object);
    }

    fn evict(&mut self) -> Option<Page> {
        let ((rank, _), object) = self.ranks.pop()?;
        self.age = f64::from_bits(rank);
        Some(object)
    }

    fn remove(&mut self, object: Page) -> bool {
        self.ranks.take(object)
    }
}
