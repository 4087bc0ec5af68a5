//! A cache with room for a number of bytes.

use super::eviction::Eviction;
use crate::page::Page;

/// A request for an object.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Request {
    /// The object's number, below the footprint.
    pub object: Page,
    /// Its size in bytes.
    pub size: u32,
    /// Time of the request; any unit, never decreasing.
    pub at: u64,
    /// How long a copy is valid that is stored now, in the same unit; `None` for ever.
    pub ttl: Option<u64>,
}

/// What became of a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Outcome {
    /// The object was in the cache.
    Hit,
    /// It was not, and is now; or the policy evicted it at once.
    Miss,
    /// A copy was in the cache that is no longer valid; it was replaced.
    Expired,
    /// It was not in the cache, or its copy was no longer valid, and it is larger than the cache.
    TooLarge,
}

/// Sums over requests.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Counts {
    /// Requests.
    pub requests: u64,
    /// Bytes of the requested objects.
    pub bytes: u64,
    /// Requests without a hit.
    pub misses: u64,
    /// Bytes of the objects that were not in the cache.
    pub missed_bytes: u64,
    /// Misses because the copy in the cache was no longer valid.
    pub expired: u64,
    /// Misses of objects larger than the cache.
    pub too_large: u64,
}

impl Counts {
    /// Misses in relation to requests; NaN without requests.
    pub fn miss_ratio(&self) -> f64 {
        self.misses as f64 / self.requests as f64
    }

    /// Missed bytes in relation to requested bytes; NaN without any.
    pub fn byte_miss_ratio(&self) -> f64 {
        self.missed_bytes as f64 / self.bytes as f64
    }
}

/// A copy that is valid for ever.
const FOR_EVER: u64 = u64::MAX;

/// A cache of objects.
///
/// An object keeps the size with which it came into the cache, even if later requests name another
/// one. A copy that is no longer valid takes room until it is requested or evicted.
pub struct ObjectCache<E> {
    capacity: u64,
    used: u64,
    sizes: Box<[u32]>,
    /// The times from which copies are not valid.
    expires: Box<[u64]>,
    eviction: E,
    counts: Counts,
}

impl<E: Eviction> ObjectCache<E> {
    /// An empty cache with room for `capacity` bytes of `footprint` different objects.
    pub fn new(capacity: u64, footprint: u32, eviction: E) -> Self {
        let objects = footprint as usize;
        Self {
            capacity,
            used: 0,
            sizes: vec![0; objects].into(),
            expires: vec![FOR_EVER; objects].into(),
            eviction,
            counts: Counts::default(),
        }
    }

    /// Takes a request.
    pub fn request(&mut self, request: Request) -> Outcome {
        let outcome = self.outcome(request);
        let counts = &mut self.counts;
        counts.requests += 1;
        counts.bytes += u64::from(request.size);
        if outcome != Outcome::Hit {
            counts.misses += 1;
            counts.missed_bytes += u64::from(request.size);
            counts.expired += u64::from(outcome == Outcome::Expired);
            counts.too_large += u64::from(outcome == Outcome::TooLarge);
        }
        outcome
    }

    fn outcome(&mut self, request: Request) -> Outcome {
        let Request { object, size, at, ttl } = request;
        let mut miss = Outcome::Miss;
        if self.eviction.contains(object) {
            if at < self.expires[object.index()] {
                self.eviction.hit(object);
                return Outcome::Hit;
            }
            self.remove(object);
            miss = Outcome::Expired;
        }
        let needed = u64::from(size);
        if needed > self.capacity {
            return Outcome::TooLarge;
        }
        if !E::NEW_COMPETES {
            self.make_room(self.capacity - needed);
        }
        self.sizes[object.index()] = size;
        let end = ttl.map_or(FOR_EVER, |ttl| at.saturating_add(ttl));
        self.expires[object.index()] = end;
        self.used += needed;
        self.eviction.insert(object, size);
        self.make_room(self.capacity);
        miss
    }

    /// Evicts until at most `most` bytes are used.
    fn make_room(&mut self, most: u64) {
        while self.used > most {
            let Some(evicted) = self.eviction.evict() else { return };
            self.used -= u64::from(self.sizes[evicted.index()]);
        }
    }

    /// Removes an object. Returns whether it was in the cache.
    pub fn remove(&mut self, object: Page) -> bool {
        let there = self.eviction.remove(object);
        if there {
            self.used -= u64::from(self.sizes[object.index()]);
        }
        there
    }

    /// Sets the counts back to zero, but keeps the objects: after a warm-up, for example.
    pub fn reset_counts(&mut self) {
        self.counts = Counts::default();
    }

    /// Sums over the requests since the beginning, or since the last
    /// [reset](Self::reset_counts).
    pub fn counts(&self) -> Counts {
        self.counts
    }

    /// Bytes of the objects in the cache.
    pub fn used(&self) -> u64 {
        self.used
    }

    /// The policy.
    pub fn eviction(&self) -> &E {
        &self.eviction
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::replacement::Lru;

    fn request(object: u32, size: u32, at: u64, ttl: Option<u64>) -> Request {
        Request { object: Page(object), size, at, ttl }
    }

    fn lru(capacity: u64) -> ObjectCache<Lru> {
        ObjectCache::new(capacity, 10, Lru::for_objects(10).unwrap())
    }

    #[test]
    fn room_is_counted_in_bytes() {
        let mut cache = lru(100);
        let mut ask = |object, size| cache.request(request(object, size, 0, None));
        assert_eq!(
            [ask(0, 60), ask(1, 40), ask(0, 60)],
            [Outcome::Miss, Outcome::Miss, Outcome::Hit]
        );
        // 1 leaves for 2, then 0 and 2 for 3.
        assert_eq!([ask(2, 30), ask(1, 40), ask(3, 100)], [Outcome::Miss; 3]);
        assert_eq!(ask(4, 101), Outcome::TooLarge);
        assert_eq!(ask(3, 100), Outcome::Hit);
        assert_eq!(cache.used(), 100);
        let counts = cache.counts();
        assert_eq!((counts.requests, counts.misses, counts.too_large), (8, 6, 1));
        assert_eq!((counts.bytes, counts.missed_bytes), (531, 371));
    }

    #[test]
    fn copies_expire_and_are_stored_anew() {
        use Outcome::{Expired, Hit, Miss};
        let mut cache = lru(100);
        let mut ask = |at| cache.request(request(0, 10, at, Some(5)));
        let outcomes = [ask(0), ask(4), ask(5), ask(9), ask(20)];
        assert_eq!(outcomes, [Miss, Hit, Expired, Hit, Expired]);
        assert_eq!((cache.used(), cache.counts().expired), (10, 2));
        assert!(cache.remove(Page(0)) && !cache.remove(Page(0)));
        assert_eq!(cache.used(), 0);
    }

    #[test]
    fn counts_of_a_warm_up_can_be_dropped() {
        let mut cache = lru(100);
        cache.request(request(0, 10, 0, None));
        cache.reset_counts();
        cache.request(request(0, 10, 1, None));
        assert_eq!(cache.counts(), Counts { requests: 1, bytes: 10, ..Counts::default() });
        assert!(cache.counts().miss_ratio() == 0.0 && cache.counts().byte_miss_ratio() == 0.0);
    }
}
