//! The curve of any policy from a sample: a small cache that gets the requests for some pages
//! stands for a large one that gets all of them.
//!
//! Sources: Waldspurger, Park, Garthwaite, Ahmad, *Efficient MRC Construction with
//! SHARDS*, FAST 2015 (the sampled pages, the correction, and the falling rate);
//! Waldspurger, Saemundsson, Ahmad, Park, *Cache Modeling and Optimization using Miniature
//! Simulations*, USENIX ATC 2017. The interval is from a delete-a-group jackknife (Kott, *The
//! Delete-a-Group Jackknife*, Journal of Official Statistics 2001).

use std::sync::OnceLock;

use super::algorithm::Algorithm;
use crate::bounds::NextUses;
use crate::bounds::next_use::TooManyRequests;
use crate::dense::Dense;
use crate::page::{Page, Space, SpaceError};
use crate::replacement::{Replacement, Visit};

/// Groups of the sampled pages for the jackknife; each is left out once.
pub const GROUPS: u8 = 16;
/// The two-sided 95 % point of Student's distribution with `GROUPS - 1` degrees of freedom.
const STUDENT: f64 = 2.131;
/// There is no interval if the small cache has room for fewer pages than this.
pub const MIN_ROOM: f64 = 32.0;
/// Requests between two checks for a stop.
const CHUNK: usize = 1 << 20;

/// Keeps the requests for the pages whose hash is below a threshold.
pub struct Sampler {
    /// The share of pages in the sample, from 0 to 1.
    rate: f64,
    seed: u64,
    /// The maximum number of requests to keep.
    most: usize,
    dense: Dense,
    pages: Vec<Page>,
    taken: Vec<u64>,
    requests: u64,
}

impl Sampler {
    /// An empty sample. `rate` is the share of pages to take; another seed takes other pages.
    pub fn new(rate: f64, seed: u64) -> Self {
        Self {
            rate: rate.clamp(0.0, 1.0),
            // Neighbouring seeds must not select neighbours of the same pages.
            seed: mix(seed),
            most: usize::MAX,
            dense: Dense::new(),
            pages: Vec::new(),
            taken: Vec::new(),
            requests: 0,
        }
    }

    /// Keeps at most so many requests: while there are more, half of the pages are dropped from
    /// the sample.
    #[must_use]
    pub fn at_most(mut self, requests: usize) -> Self {
        self.most = requests.max(1);
        self
    }

    /// Adds those requests for the pages with these keys that are in the sample.
    ///
    /// # Errors
    ///
    /// More different pages than [`MAX_PAGES`](crate::page::MAX_PAGES).
    pub fn extend(&mut self, keys: &[u64]) -> Result<(), SpaceError> {
        self.requests += keys.len() as u64;
        if self.rate < 1.0 {
            let mut taken = std::mem::take(&mut self.taken);
            taken.clear();
            taken.extend(keys.iter().copied().filter(|key| self.takes(*key)));
            let numbered = self.dense.pages(&taken, &mut self.pages);
            self.taken = taken;
            numbered?;
        } else {
            self.dense.pages(keys, &mut self.pages)?;
        }
        while self.pages.len() > self.most {
            self.halve()?;
        }
        Ok(())
    }

    /// The sample, ready to be simulated.
    pub fn finish(self) -> Sample {
        let group = |key| (mix(key ^ self.seed) % u64::from(GROUPS)) as u8;
        Sample {
            rate: self.rate,
            requests: self.requests,
            groups: self.dense.keys().into_iter().map(group).collect(),
            pages: self.pages,
            uses: OnceLock::new(),
        }
    }

    fn takes(&self, key: u64) -> bool {
        // The high bits of the hash decide here; groups are its low bits.
        (mix(key ^ self.seed) as f64) < self.rate * 2f64.powi(64)
    }

    #[cold]
    fn halve(&mut self) -> Result<(), SpaceError> {
        self.rate /= 2.0;
        let keys = std::mem::take(&mut self.dense).keys();
        let (mut kept, mut numbered) = (Vec::new(), Vec::new());
        let mut write = 0;
        for read in (0..self.pages.len()).step_by(CHUNK) {
            let chunk = &self.pages[read..self.pages.len().min(read + CHUNK)];
            kept.clear();
            kept.extend(chunk.iter().map(|page| keys[page.index()]).filter(|key| self.takes(*key)));
            numbered.clear();
            self.dense.pages(&kept, &mut numbered)?;
            self.pages[write..write + numbered.len()].copy_from_slice(&numbered);
            write += numbered.len();
        }
        self.pages.truncate(write);
        Ok(())
    }
}

/// The requests for some or all pages of a trace: 4 bytes per request and 1 per page, and as much
/// again for offline optima.
#[derive(Debug, Clone)]
pub struct Sample {
    rate: f64,
    /// All requests of the trace.
    requests: u64,
    /// The group of each page.
    groups: Vec<u8>,
    pages: Vec<Page>,
    /// The next requests, once an offline optimum has needed them.
    uses: OnceLock<Result<NextUses, TooManyRequests>>,
}

/// Why a sample cannot be simulated.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SampleError {
    /// A capacity of zero, or above [`MAX_PAGES`](crate::page::MAX_PAGES).
    #[error(transparent)]
    Space(#[from] SpaceError),
    /// Too many requests for an offline optimum.
    #[error(transparent)]
    TooManyRequests(#[from] TooManyRequests),
    /// A policy of another program failed.
    #[error("{0}")]
    External(String),
}

/// A miss ratio, and the interval that holds that of the whole trace.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Estimate {
    /// Misses for each request.
    pub miss_ratio: f64,
    /// The 95 % interval; `None` if the value is exact or the small cache is too small.
    pub interval: Option<[f64; 2]>,
}

impl Sample {
    /// The share of the trace's pages that is in the sample, from 0 to 1.
    pub fn rate(&self) -> f64 {
        self.rate
    }

    /// Whether the sample is the whole trace.
    pub fn is_all(&self) -> bool {
        self.rate >= 1.0
    }

    /// The number of requests of the whole trace.
    pub fn requests(&self) -> u64 {
        self.requests
    }

    /// The requests in the sample.
    pub fn pages(&self) -> &[Page] {
        &self.pages
    }

    /// Different pages in the sample.
    pub fn footprint(&self) -> u32 {
        self.groups.len() as u32
    }

    /// Different pages of the whole trace, estimated from the sample.
    pub fn whole_footprint(&self) -> u64 {
        (f64::from(self.footprint()) / self.rate.max(f64::MIN_POSITIVE)).round() as u64
    }

    /// The estimated miss ratio of a cache with room for `capacity` pages; exact if the sample is
    /// the whole trace. `None` if `stop` returned true.
    ///
    /// As in SHARDS, a difference between the number of sampled requests and the expected number
    /// counts as hits: it is due to popular pages, which hit at almost any size.
    ///
    /// # Errors
    ///
    /// A capacity of zero, or above [`MAX_PAGES`](crate::page::MAX_PAGES); more than 2^32 - 1
    /// requests for an offline optimum.
    pub fn miss_ratio(
        &self,
        algorithm: impl Into<Algorithm>,
        capacity: u64,
        stop: &dyn Fn() -> bool,
    ) -> Result<Option<f64>, SampleError> {
        Ok(self.misses_per_request(algorithm, capacity, stop)?.map(|misses| misses.min(1.0)))
    }

    /// Like [`miss_ratio`](Self::miss_ratio), but above 1 if the sample has more requests than
    /// expected: for ratios of two numbers of the same sample, in which that cancels.
    ///
    /// # Errors
    ///
    /// As [`miss_ratio`](Self::miss_ratio).
    pub fn misses_per_request(
        &self,
        algorithm: impl Into<Algorithm>,
        capacity: u64,
        stop: &dyn Fn() -> bool,
    ) -> Result<Option<f64>, SampleError> {
        self.without(None, algorithm.into(), capacity, stop)
    }

    /// Like [`miss_ratio`](Self::miss_ratio) with an interval, which takes 16 more simulations.
    ///
    /// Each group of pages is left out in turn. The spread of the results shows how much the
    /// estimate depends on the sampled pages.
    ///
    /// # Errors
    ///
    /// As [`miss_ratio`](Self::miss_ratio).
    pub fn estimate(
        &self,
        algorithm: impl Into<Algorithm>,
        capacity: u64,
        stop: &dyn Fn() -> bool,
    ) -> Result<Option<Estimate>, SampleError> {
        let algorithm = algorithm.into();
        let Some(miss_ratio) = self.miss_ratio(algorithm, capacity, stop)? else {
            return Ok(None);
        };
        if self.is_all() || capacity as f64 * self.rate < MIN_ROOM {
            return Ok(Some(Estimate { miss_ratio, interval: None }));
        }
        let mut others = Vec::with_capacity(usize::from(GROUPS));
        for group in 0..GROUPS {
            let Some(other) = self.without(Some(group), algorithm, capacity, stop)? else {
                return Ok(None);
            };
            others.push(other.min(1.0));
        }
        let groups = f64::from(GROUPS);
        let mean = others.iter().sum::<f64>() / groups;
        let squares: f64 = others.iter().map(|other| (other - mean).powi(2)).sum();
        // Finite-population correction: at a rate of 1 the value is exact.
        let variance = (groups - 1.0) / groups * squares * (1.0 - self.rate);
        let margin = STUDENT * variance.sqrt();
        let interval = [(miss_ratio - margin).max(0.0), (miss_ratio + margin).min(1.0)];
        Ok(Some(Estimate { miss_ratio, interval: Some(interval) }))
    }

    /// The misses for each request without the pages of a group, in a proportionally smaller cache.
    fn without(
        &self,
        group: Option<u8>,
        algorithm: Algorithm,
        capacity: u64,
        stop: &dyn Fn() -> bool,
    ) -> Result<Option<f64>, SampleError> {
        Space::new(capacity, 0)?;
        let kept = group.map_or(1.0, |_| 1.0 - 1.0 / f64::from(GROUPS));
        let rate = self.rate * kept;
        let room = (capacity as f64 * rate).round().max(1.0);
        let space = Space::new(room as u64, self.footprint().into())?;
        let misses = match algorithm {
            Algorithm::Online(policy) => policy.visit(space, Misses { sample: self, group, stop }),
            Algorithm::External(external) => external
                .policy()
                .misses(space, &mut self.requested(group), stop)
                .map_err(SampleError::External)?,
            Algorithm::Offline(belady) => {
                let mut some = None;
                let uses = match group {
                    None => self.uses.get_or_init(|| NextUses::of(self.requested(None))),
                    Some(_) => some.insert(NextUses::of(self.requested(group))),
                };
                let counts =
                    belady.run_until(uses.as_ref().map_err(|why| *why)?, space.capacity(), stop);
                counts.map(|counts| counts.misses)
            }
        };
        let expected = (self.requests as f64 * rate).max(1.0);
        Ok(misses.map(|misses| misses as f64 / expected))
    }
}

impl Sample {
    /// The requests of the sample, without those for the pages of a group.
    fn requested(&self, without: Option<u8>) -> impl Iterator<Item = Page> {
        let stays = move |page: &Page| Some(self.groups[page.index()]) != without;
        self.pages.iter().copied().filter(stays)
    }
}

struct Misses<'a> {
    sample: &'a Sample,
    /// The group that is left out.
    group: Option<u8>,
    stop: &'a dyn Fn() -> bool,
}

impl Visit for Misses<'_> {
    type Output = Option<u64>;

    fn visit<R: Replacement>(self, mut cache: R) -> Option<u64> {
        let groups = &self.sample.groups;
        let mut misses = 0;
        for chunk in self.sample.pages.chunks(CHUNK) {
            if (self.stop)() {
                return None;
            }
            let pages = chunk.iter().copied();
            misses += match self.group {
                None => cache.misses(pages),
                Some(group) => cache.misses(pages.filter(|page| groups[page.index()] != group)),
            };
        }
        Some(misses)
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

    use crate::bounds::Belady;
    use crate::replacement::Policy;

    const GO_ON: fn() -> bool = || false;

    /// Skewed: half of the requests are for a quarter of the pages, and no single page is popular
    /// enough to dominate a sample.
    fn trace() -> Vec<u64> {
        let page = |at: u64| {
            let chance = (mix(at) >> 11) as f64 / (1u64 << 53) as f64;
            (60_000.0 * chance * chance) as u64
        };
        (0..400_000).map(page).collect()
    }

    fn exact(policy: Policy, capacity: u64, trace: &[u64]) -> f64 {
        struct Count<'a>(&'a [u64]);
        impl Visit for Count<'_> {
            type Output = u64;
            fn visit<R: Replacement>(self, mut cache: R) -> u64 {
                cache.misses(self.0.iter().map(|page| Page(*page as u32)))
            }
        }
        let misses = policy.visit(Space::new(capacity, 60_000).unwrap(), Count(trace));
        misses as f64 / trace.len() as f64
    }

    fn sample(rate: f64, seed: u64, trace: &[u64]) -> Sample {
        let mut sampler = Sampler::new(rate, seed);
        for piece in trace.chunks(777) {
            sampler.extend(piece).unwrap();
        }
        sampler.finish()
    }

    #[test]
    fn all_pages_are_the_trace_itself() {
        let trace = trace();
        let sample = sample(1.0, 0, &trace);
        assert!(sample.is_all());
        assert_eq!((sample.pages().len(), sample.requests()), (trace.len(), 400_000));
        for policy in Policy::ALL {
            let sampled = sample.estimate(*policy, 7_000, &GO_ON).unwrap().unwrap();
            assert_eq!(sampled.interval, None);
            let exact = exact(*policy, 7_000, &trace);
            // Which pages share the sketch's counters depends on their numbers.
            let near = if policy.name() == "w-tinylfu" { 5e-3 } else { 1e-12 };
            let error = sampled.miss_ratio - exact;
            assert!(error.abs() < near, "{policy}: {error}");
        }
    }

    #[test]
    fn a_tenth_of_the_pages_estimates_the_curve() {
        let trace = trace();
        let samples: Vec<Sample> = (0..8).map(|seed| sample(0.1, seed, &trace)).collect();
        for policy in Policy::ALL {
            for capacity in [3_000, 10_000, 30_000] {
                let exact = exact(*policy, capacity, &trace);
                let error = |sample: &Sample| {
                    sample.miss_ratio(*policy, capacity, &GO_ON).unwrap().unwrap() - exact
                };
                let errors: Vec<f64> = samples.iter().map(error).collect();
                assert!(errors.iter().all(|error| error.abs() < 0.05), "{policy}: {errors:?}");
                let mean = errors.iter().sum::<f64>() / 8.0;
                assert!(mean.abs() < 0.01, "{policy} {capacity}: {errors:?}");
            }
        }
    }

    #[test]
    fn the_optimum_is_estimated_and_below_every_policy() {
        let trace = trace();
        let (whole, tenth) = (sample(1.0, 0, &trace), sample(0.1, 2, &trace));
        for capacity in [3_000, 10_000] {
            let of = |sample: &Sample, algorithm: Algorithm| {
                sample.estimate(algorithm, capacity, &GO_ON).unwrap().unwrap()
            };
            let uses = NextUses::of(trace.iter().map(|page| Page(*page as u32))).unwrap();
            let optimum = Belady::Demand.run(&uses, capacity as u32).miss_ratio();
            let demand = Algorithm::Offline(Belady::Demand);
            assert!((of(&whole, demand).miss_ratio - optimum).abs() < 1e-12);
            assert!(of(&whole, Algorithm::Offline(Belady::Bypass)).miss_ratio <= optimum);
            for policy in Policy::ALL {
                assert!(of(&whole, (*policy).into()).miss_ratio >= optimum, "{policy}");
            }
            let estimate = of(&tenth, demand);
            let [low, high] = estimate.interval.unwrap();
            assert!(low < estimate.miss_ratio && estimate.miss_ratio < high);
            assert!((estimate.miss_ratio - optimum).abs() < 0.05, "{estimate:?}, {optimum}");
        }
        assert_eq!(whole.estimate(Algorithm::Offline(Belady::Demand), 9, &|| true), Ok(None));
    }

    #[test]
    fn intervals_cover_the_exact_value() {
        let trace = trace();
        let (mut covered, mut widest): (u32, f64) = (0, 0.0);
        for seed in 0..40 {
            let sample = sample(0.05, seed, &trace);
            for (policy, capacity) in [(Policy::Lru, 10_000), (Policy::Sieve, 5_000)] {
                let estimate = sample.estimate(policy, capacity, &GO_ON).unwrap().unwrap();
                let [low, high] = estimate.interval.unwrap();
                let exact = exact(policy, capacity, &trace);
                covered += u32::from(low <= exact && exact <= high);
                widest = widest.max(high - low);
            }
        }
        // 95 % of 80 are 76; 70 or fewer have a chance of less than 1 %.
        assert!((71..80).contains(&covered), "{covered} of 80");
        assert!(widest < 0.2, "{widest}");
    }

    #[test]
    fn the_rate_is_halved_until_the_requests_fit() {
        let trace = trace();
        let mut sampler = Sampler::new(1.0, 3).at_most(60_000);
        for piece in trace.chunks(7_777) {
            sampler.extend(piece).unwrap();
            assert!(sampler.pages.len() <= 60_000);
        }
        let fallen = sampler.finish();
        assert!(fallen.rate() < 0.2 && fallen.rate() > 0.05, "{}", fallen.rate());
        // The same pages as with that rate from the beginning.
        let known = sample(fallen.rate(), 3, &trace);
        assert_eq!((&fallen.pages, &fallen.groups), (&known.pages, &known.groups));
        assert!((fallen.whole_footprint() as f64 / 60_000.0 - 1.0).abs() < 0.1);
    }

    #[test]
    fn it_stops_and_has_no_interval_for_caches_that_are_too_small() {
        let sample = sample(0.1, 1, &trace());
        assert_eq!(sample.estimate(Policy::Lru, 9_000, &|| true), Ok(None));
        let estimate = sample.estimate(Policy::Lru, 100, &GO_ON).unwrap().unwrap();
        assert_eq!(estimate.interval, None);
        let empty = Err(SampleError::Space(SpaceError::Empty));
        assert_eq!(sample.miss_ratio(Policy::Lru, 0, &GO_ON), empty);
    }
}
