//! The curve of any policy: a small cache that sees the requests of some pages
//! stands for a large one that sees all of them.
//!
//! Sources: Waldspurger, Park, Garthwaite, Ahmad, *Efficient MRC Construction with
//! SHARDS*, FAST 2015 (which pages, and the correction); Waldspurger, Saemundsson,
//! Ahmad, Park, *Cache Modeling and Optimization using Miniature Simulations*, USENIX ATC 2017.

use crate::model::page::{Page, Space, SpaceError};
use crate::model::replacement::{Policy, Replacement, Visit};

const NONE: u32 = u32::MAX;

/// The requests of those pages whose hash is below a threshold.
#[derive(Debug, Clone)]
pub struct Sample {
    /// The share of pages that are in it, from 0 to 1.
    rate: f64,
    seed: u64,
    /// Numbers in the sample, for each page of the trace.
    numbers: Vec<u32>,
    footprint: u32,
    pages: Vec<Page>,
    requests: u64,
}

impl Sample {
    /// Nothing so far. `rate` is the share of pages that will be in it; another
    /// seed takes other pages.
    pub fn new(rate: f64, seed: u64) -> Self {
        let rate = rate.clamp(0.0, 1.0);
        // Seeds that are neighbours must not take neighbours of the same pages.
        let seed = mix(seed);
        Self { rate, seed, numbers: Vec::new(), footprint: 0, pages: Vec::new(), requests: 0 }
    }

    /// Takes the requests of the pages that are in the sample.
    pub fn extend(&mut self, requests: impl IntoIterator<Item = Page>) {
        let threshold = self.rate * 2f64.powi(64);
        for page in requests {
            self.requests += 1;
            if mix(u64::from(page.0) ^ self.seed) as f64 >= threshold && self.rate < 1.0 {
                continue;
            }
            if page.index() >= self.numbers.len() {
                self.numbers.resize((page.index() + 1).next_power_of_two(), NONE);
            }
            let number = &mut self.numbers[page.index()];
            if *number == NONE {
                *number = self.footprint;
                self.footprint += 1;
            }
            self.pages.push(Page(*number));
        }
    }

    /// Requests that are in the sample.
    pub fn len(&self) -> usize {
        self.pages.len()
    }

    /// Whether no request is in the sample.
    pub fn is_empty(&self) -> bool {
        self.pages.is_empty()
    }

    /// The estimated miss ratio of a cache with room for `capacity` pages.
    ///
    /// Popular pages that are in the sample, or are not, make it larger or smaller than it
    /// should be. As in SHARDS, requests beyond the expected number are taken for
    /// hits, as they are hits at almost any size; and missing ones as well.
    ///
    /// # Errors
    ///
    /// No room, or for more pages than can be.
    pub fn miss_ratio(&self, policy: Policy, capacity: u64) -> Result<f64, SpaceError> {
        Space::new(capacity, 0)?;
        let room = (capacity as f64 * self.rate).round().max(1.0);
        let space = Space::new(room as u64, self.footprint.into())?;
        let misses = policy.visit(space, Misses(&self.pages));
        let expected = (self.requests as f64 * self.rate).max(1.0);
        Ok((misses as f64 / expected).min(1.0))
    }
}

struct Misses<'a>(&'a [Page]);

impl Visit for Misses<'_> {
    type Output = u64;

    fn visit<R: Replacement>(self, mut cache: R) -> u64 {
        cache.misses(self.0.iter().copied())
    }
}

/// The finalizer of `SplitMix64` (Steele, Lea, Flood, OOPSLA 2014).
fn mix(mut bits: u64) -> u64 {
    bits = bits.wrapping_add(0x9E37_79B9_7F4A_7C15);
    bits = (bits ^ (bits >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    bits = (bits ^ (bits >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    bits ^ (bits >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Skewed: half of the requests for a quarter of the pages, and no page so
    /// popular that the sample hangs on it.
    fn trace() -> Vec<Page> {
        let page = |at: u64| {
            let chance = (mix(at) >> 11) as f64 / (1u64 << 53) as f64;
            Page((60_000.0 * chance * chance) as u32)
        };
        (0..400_000).map(page).collect()
    }

    fn exact(policy: Policy, capacity: u64, trace: &[Page]) -> f64 {
        let misses = policy.visit(Space::new(capacity, 60_000).unwrap(), Misses(trace));
        misses as f64 / trace.len() as f64
    }

    #[test]
    fn all_pages_are_the_trace_itself() {
        let trace = trace();
        let mut sample = Sample::new(1.0, 0);
        assert!(sample.is_empty());
        sample.extend(trace.iter().copied());
        assert_eq!(sample.len(), trace.len());
        for policy in Policy::ALL {
            let sampled = sample.miss_ratio(*policy, 7_000).unwrap();
            assert!((sampled - exact(*policy, 7_000, &trace)).abs() < 1e-12, "{policy}");
        }
    }

    #[test]
    fn a_tenth_of_the_pages_tells_the_curve() {
        let trace = trace();
        let samples: Vec<Sample> = (0..8)
            .map(|seed| {
                let mut sample = Sample::new(0.1, seed);
                sample.extend(trace.iter().copied());
                sample
            })
            .collect();
        for policy in Policy::ALL {
            for capacity in [3_000, 10_000, 30_000] {
                let exact = exact(*policy, capacity, &trace);
                let error = |sample: &Sample| sample.miss_ratio(*policy, capacity).unwrap() - exact;
                let errors: Vec<f64> = samples.iter().map(error).collect();
                assert!(errors.iter().all(|error| error.abs() < 0.05), "{policy}: {errors:?}");
                let mean = errors.iter().sum::<f64>() / 8.0;
                assert!(mean.abs() < 0.01, "{policy} {capacity}: {errors:?}");
            }
        }
    }
}
