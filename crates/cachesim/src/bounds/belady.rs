//! Belady's MIN: the fewest misses that any replacement policy can have.
//!
//! Source: Belady, *A study of replacement algorithms for a virtual-storage
//! computer*, IBM Systems Journal 1966. It evicts the page whose next request is farthest away.

use super::next_use::{NEVER, NextUses};
use super::times::Times;

/// Requests between two checks for a stop.
const BETWEEN_CHECKS: u32 = 1 << 20;

/// Counts of a run.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct BeladyCounts {
    /// All requests.
    pub requests: u64,
    /// Requests for pages that were not in the cache.
    pub misses: u64,
    /// Pages admitted to the cache.
    pub admissions: u64,
}

impl BeladyCounts {
    /// Misses per request; 0 without requests.
    pub fn miss_ratio(&self) -> f64 {
        self.misses as f64 / self.requests.max(1) as f64
    }
}

/// Whether a missed page must be admitted to the cache.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Belady {
    /// Every missed page is admitted, as in demand paging.
    Demand,
    /// A missed page bypasses the cache if that costs nothing. This never has more misses than
    /// [`Belady::Demand`], often has fewer, and has far fewer admissions, though not the fewest
    /// possible.
    Bypass,
}

impl Belady {
    /// Runs through all requests with a cache for `capacity` pages.
    ///
    /// The time of its next request identifies a page in the cache. So the cache is a set of
    /// times, and a request hits if its own time is in the set.
    pub fn run(self, uses: &NextUses, capacity: u32) -> BeladyCounts {
        self.run_until(uses, capacity, &|| false).unwrap_or_default()
    }

    /// Like [`run`](Self::run); `None` if `stop`, which is asked now and then, returned true.
    pub fn run_until(
        self,
        uses: &NextUses,
        capacity: u32,
        stop: &dyn Fn() -> bool,
    ) -> Option<BeladyCounts> {
        let next = uses.as_slice();
        let mut cached = Times::new(next.len());
        // Pages in the cache that are never requested again. Any of them may leave.
        let mut dead = 0;
        let mut counts = BeladyCounts { requests: next.len() as u64, ..BeladyCounts::default() };
        for (now, next) in (0_u32..).zip(next.iter().copied()) {
            if now.is_multiple_of(BETWEEN_CHECKS) && stop() {
                return None;
            }
            if cached.contains(now) {
                cached.remove(now);
            } else {
                counts.misses += 1;
                if self == Self::Bypass && next == NEVER {
                    continue;
                }
                if cached.len() + dead >= capacity {
                    let latest = cached.latest();
                    if dead > 0 {
                        dead -= 1;
                    } else if self == Self::Bypass && latest.is_none_or(|latest| latest < next) {
                        continue;
                    } else if let Some(latest) = latest {
                        cached.remove(latest);
                    }
                }
                counts.admissions += 1;
            }
            if next == NEVER {
                dead += 1;
            } else {
                cached.insert(next);
            }
        }
        Some(counts)
    }
}

#[cfg(test)]
mod tests {
    use std::collections::{BTreeSet, HashMap};

    use proptest::prelude::*;

    use super::*;
    use crate::page::Page;

    /// The fewest misses by exhaustive search: for every possible content of the cache, the
    /// fewest misses that lead to it.
    fn fewest(requests: &[u32], capacity: usize, bypass: bool) -> u64 {
        let mut caches = HashMap::from([(BTreeSet::new(), 0)]);
        for page in requests {
            let mut then = HashMap::new();
            let mut may = |cache, misses: u64| {
                let fewest = then.entry(cache).or_insert(misses);
                *fewest = misses.min(*fewest);
            };
            for (cache, misses) in caches {
                if cache.contains(page) {
                    may(cache, misses);
                    continue;
                }
                if bypass {
                    may(cache.clone(), misses + 1);
                }
                let mut with: BTreeSet<u32> = cache.clone();
                with.insert(*page);
                if with.len() <= capacity {
                    may(with.clone(), misses + 1);
                }
                for left in &cache {
                    let mut without = with.clone();
                    without.remove(left);
                    may(without, misses + 1);
                }
            }
            caches = then;
        }
        caches.into_values().min().unwrap_or(0)
    }

    proptest! {
        #[test]
        fn nothing_misses_less(
            requests in prop::collection::vec(0..7u32, 0..40),
            capacity in 1..6u32,
        ) {
            let uses = NextUses::of(requests.iter().copied().map(Page)).unwrap();
            let demand = Belady::Demand.run(&uses, capacity);
            let bypass = Belady::Bypass.run(&uses, capacity);
            prop_assert_eq!(demand.misses, fewest(&requests, capacity as usize, false));
            prop_assert_eq!(bypass.misses, fewest(&requests, capacity as usize, true));
            prop_assert_eq!(demand.admissions, demand.misses);
            prop_assert!(bypass.admissions <= bypass.misses);
        }
    }

    #[test]
    fn a_page_that_is_never_requested_again_bypasses_the_cache() {
        let uses = NextUses::of((0..100).map(|at| Page(if at % 2 == 0 { 0 } else { at }))).unwrap();
        let bypass = Belady::Bypass.run(&uses, 1);
        assert_eq!((bypass.misses, bypass.admissions), (51, 1));
        let demand = Belady::Demand.run(&uses, 1);
        assert_eq!((demand.misses, demand.miss_ratio()), (100, 1.0));
    }
}
