//! Caches and miss-ratio curves.

use std::collections::BTreeMap;

use pyo3::prelude::*;
use unjank_cachesim::mrc::{Algorithm, LruCurve, Sample, SampleError, Sampler};
use unjank_cachesim::replacement::Visit;
use unjank_cachesim::{Page, Policy, Replacement, Space};

use crate::errors::wrong;
use crate::keys::in_pieces;
use crate::signals::interruptible;

/// The names of all policies, with the default values of their parameters.
#[pyfunction]
pub(crate) fn policies() -> Vec<(String, String)> {
    let typed = |policy: &Policy| policy.parameters().replace(", ", ":");
    Policy::ALL.iter().map(|policy| (policy.to_string(), typed(policy))).collect()
}

/// A cache of pages under a replacement policy, for one thread at a time.
#[pyclass(module = "unjank.cache")]
pub(crate) struct Cache(Box<dyn Replacement + Send + Sync>);

struct Boxed;

impl Visit for Boxed {
    type Output = Box<dyn Replacement + Send + Sync>;

    fn visit<R: Replacement + Send + Sync + 'static>(self, cache: R) -> Self::Output {
        Box::new(cache)
    }
}

impl Cache {
    fn page(&self, page: u32) -> PyResult<Page> {
        let footprint = self.0.space().footprint();
        if page < footprint {
            Ok(Page(page))
        } else {
            Err(wrong(format!("page {page} is not below the footprint {footprint}")))
        }
    }
}

#[pymethods]
impl Cache {
    #[new]
    fn new(policy: &str, capacity: u64, footprint: u64) -> PyResult<Self> {
        let policy: Policy = policy.parse().map_err(wrong)?;
        Ok(Self(policy.visit(Space::new(capacity, footprint).map_err(wrong)?, Boxed)))
    }

    /// Takes a request for a page. Returns whether it was a hit.
    fn request(&mut self, page: u32) -> PyResult<bool> {
        let page = self.page(page)?;
        Ok(self.0.request(page))
    }

    /// Takes requests for an array of pages, and counts the misses. If a page is not below the
    /// footprint, none of the requests is taken.
    fn misses(&mut self, pages: &Bound<'_, PyAny>) -> PyResult<u64> {
        let footprint = self.0.space().footprint();
        let mut known = Vec::new();
        in_pieces(pages, |keys| {
            for key in keys {
                let page = u32::try_from(*key).ok().filter(|page| *page < footprint);
                let page = page.ok_or_else(|| {
                    wrong(format!("page {key} is not below the footprint {footprint}"))
                })?;
                known.push(Page(page));
            }
            Ok(())
        })?;
        let (py, cache) = (pages.py(), &mut self.0);
        let mut misses = 0;
        for pages in known.chunks(CHUNK) {
            misses += py
                .detach(|| pages.iter().map(|page| u64::from(!cache.request(*page))).sum::<u64>());
            py.check_signals()?;
        }
        Ok(misses)
    }

    /// Removes a page and its history. Returns whether it was there.
    fn remove(&mut self, page: u32) -> PyResult<bool> {
        let page = self.page(page)?;
        Ok(self.0.remove(page))
    }

    fn __contains__(&self, page: &Bound<'_, PyAny>) -> bool {
        let page = page.extract().and_then(|page| self.page(page));
        page.is_ok_and(|page| self.0.contains(page))
    }

    fn __repr__(&self) -> String {
        let space = self.0.space();
        format!("<Cache: {} of {} pages>", self.0.len(), space.capacity())
    }

    fn __len__(&self) -> usize {
        self.0.len() as usize
    }

    /// Pages that fit.
    #[getter]
    fn capacity(&self) -> u32 {
        self.0.space().capacity()
    }

    /// The memory that the policy takes, in bytes.
    #[getter]
    fn nbytes(&self) -> usize {
        self.0.bytes()
    }
}

/// The requests of a trace, all or those for a sample of its pages.
#[pyclass(frozen, module = "unjank.cache")]
pub(crate) struct Requests {
    sample: Sample,
    /// Lines and records that were skipped, by reason.
    skipped: BTreeMap<String, u64>,
}

/// Requests between two looks for a signal.
const CHUNK: usize = 1 << 20;

impl Requests {
    /// The requests of a sample.
    pub(crate) fn of(sample: Sample, skipped: BTreeMap<String, u64>) -> PyResult<Self> {
        if sample.pages().is_empty() && sample.requests() > 0 {
            return Err(wrong(format!(
                "none of {} requests is in the sample; take a larger share of the pages",
                sample.requests()
            )));
        }
        Ok(Self { sample, skipped })
    }
}

/// A size in pages, the miss ratio, and the ends of its interval.
type Point = (u64, f64, Option<(f64, f64)>);

#[pymethods]
impl Requests {
    #[new]
    #[pyo3(signature = (keys, *, sample = 1.0, seed = 0, max_requests = None))]
    fn new(
        keys: &Bound<'_, PyAny>,
        sample: f64,
        seed: u64,
        max_requests: Option<usize>,
    ) -> PyResult<Self> {
        check_sample(sample)?;
        check_most(max_requests)?;
        let mut sampler = Sampler::new(sample, seed).at_most(max_requests.unwrap_or(usize::MAX));
        in_pieces(keys, |keys| sampler.extend(keys).map_err(wrong))?;
        Self::of(sampler.finish(), BTreeMap::new())
    }

    fn __len__(&self) -> usize {
        usize::try_from(self.sample.requests()).unwrap_or(usize::MAX)
    }

    /// Different pages of the whole trace; an estimate if this is a sample.
    #[getter]
    fn footprint(&self) -> u64 {
        self.sample.whole_footprint()
    }

    /// The share of the pages that is in the sample; 1 without sampling.
    #[getter]
    fn rate(&self) -> f64 {
        self.sample.rate()
    }

    /// Requests that are in the sample; all of them without sampling.
    #[getter]
    fn sampled(&self) -> usize {
        self.sample.pages().len()
    }

    /// Lines and records of the trace that were skipped, by reason.
    #[getter]
    fn skipped(&self) -> BTreeMap<String, u64> {
        self.skipped.clone()
    }

    fn __repr__(&self) -> String {
        let (all, footprint) = (self.sample.requests(), self.sample.whole_footprint());
        if self.sample.is_all() {
            return format!("<Requests: {all} for {footprint} pages>");
        }
        let rate = self.sample.rate();
        format!("<Requests: {all} for about {footprint} pages, sampled at {rate:.4}>")
    }

    /// The miss ratio of a policy in a cache with room for so many pages.
    fn miss_ratio(&self, py: Python<'_>, policy: &str, capacity: u64) -> PyResult<f64> {
        Ok(self.points(py, policy, vec![capacity])?[0].1)
    }

    /// The points of a curve: sizes in pages, miss ratios, and intervals if this is a sample.
    fn points(&self, py: Python<'_>, policy: &str, capacities: Vec<u64>) -> PyResult<Vec<Point>> {
        let algorithm: Algorithm = policy.parse().map_err(wrong)?;
        let points = interruptible(py, |stop| {
            let point = |capacity| {
                let estimate = self.sample.estimate(algorithm, capacity, &|| stop.is_set())?;
                Ok(estimate.map(|estimate| {
                    let interval = estimate.interval.map(|[low, high]| (low, high));
                    (capacity, estimate.miss_ratio, interval)
                }))
            };
            capacities.into_iter().map(point).collect::<Result<Option<Vec<Point>>, SampleError>>()
        })?;
        Ok(points.map_err(wrong)?.expect("it was not stopped"))
    }

    /// The misses of LRU with room for each number of pages from 0 up, in one pass.
    fn lru_misses(&self, py: Python<'_>) -> PyResult<Vec<u64>> {
        if !self.sample.is_all() {
            return Err(wrong("a sample has no exact curve; use points"));
        }
        interruptible(py, |stop| {
            let mut curve = LruCurve::new(self.sample.footprint());
            for pages in self.sample.pages().chunks(CHUNK) {
                if stop.is_set() {
                    break;
                }
                for page in pages {
                    curve.request(*page);
                }
            }
            curve.misses().collect()
        })
    }
}

/// Checks the number of requests to keep.
pub(crate) fn check_most(most: Option<usize>) -> PyResult<()> {
    if most == Some(0) { Err(wrong("max_requests must be at least 1")) } else { Ok(()) }
}

/// Checks the share of pages of a sample.
pub(crate) fn check_sample(share: f64) -> PyResult<()> {
    if share > 0.0 && share <= 1.0 {
        Ok(())
    } else {
        Err(wrong("sample must be above 0 and at most 1"))
    }
}
