//! Caches and miss-ratio curves.

use pyo3::prelude::*;
use unjank_cachesim::mrc::{Algorithm, LruCurve, Sample, Sampler};
use unjank_cachesim::replacement::Visit;
use unjank_cachesim::{Page, Policy, Replacement, Space};

use crate::errors::wrong;
use crate::keys::in_pieces;
use crate::signals::Signals;

/// The names of all policies, with the default values of their parameters.
#[pyfunction]
pub(crate) fn policies() -> Vec<(String, String)> {
    Policy::ALL.iter().map(|policy| (policy.to_string(), policy.parameters())).collect()
}

/// A cache of pages under a replacement policy.
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

    fn request(&mut self, page: u32) -> PyResult<bool> {
        let page = self.page(page)?;
        Ok(self.0.request(page))
    }

    fn misses(&mut self, pages: &Bound<'_, PyAny>) -> PyResult<u64> {
        let mut misses = 0;
        let footprint = self.0.space().footprint();
        let cache = &mut self.0;
        in_pieces(pages, |keys| {
            for key in keys {
                let page = u32::try_from(*key).ok().filter(|page| *page < footprint);
                let page = page.ok_or_else(|| {
                    wrong(format!("page {key} is not below the footprint {footprint}"))
                })?;
                misses += u64::from(!cache.request(Page(page)));
            }
            Ok(())
        })?;
        Ok(misses)
    }

    fn remove(&mut self, page: u32) -> PyResult<bool> {
        let page = self.page(page)?;
        Ok(self.0.remove(page))
    }

    fn __contains__(&self, page: u32) -> bool {
        self.page(page).is_ok_and(|page| self.0.contains(page))
    }

    fn __len__(&self) -> usize {
        self.0.len() as usize
    }

    #[getter]
    fn capacity(&self) -> u32 {
        self.0.space().capacity()
    }

    #[getter]
    fn nbytes(&self) -> usize {
        self.0.bytes()
    }
}

/// The requests of a trace, all or those for a sample of its pages.
#[pyclass(frozen, module = "unjank.cache")]
pub(crate) struct Requests(pub(crate) Sample);

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
        let mut sampler = Sampler::new(sample, seed).at_most(max_requests.unwrap_or(usize::MAX));
        in_pieces(keys, |keys| sampler.extend(keys).map_err(wrong))?;
        Ok(Self(sampler.finish()))
    }

    fn __len__(&self) -> usize {
        usize::try_from(self.0.requests()).unwrap_or(usize::MAX)
    }

    /// Different pages of the whole trace; an estimate if this is a sample.
    #[getter]
    fn footprint(&self) -> u64 {
        self.0.whole_footprint()
    }

    #[getter]
    fn rate(&self) -> f64 {
        self.0.rate()
    }

    fn miss_ratio(&self, py: Python<'_>, policy: &str, capacity: u64) -> PyResult<f64> {
        Ok(self.points(py, policy, vec![capacity])?[0].1)
    }

    /// The points of a curve: sizes in pages, miss ratios, and intervals if this is a sample.
    fn points(&self, py: Python<'_>, policy: &str, capacities: Vec<u64>) -> PyResult<Vec<Point>> {
        let algorithm: Algorithm = policy.parse().map_err(wrong)?;
        let points = capacities.into_iter().map(|capacity| {
            let signals = Signals::new();
            let estimate = py.detach(|| self.0.estimate(algorithm, capacity, &|| signals.raised()));
            let estimate = signals.finish(estimate.map_err(wrong)?)?;
            Ok((capacity, estimate.miss_ratio, estimate.interval.map(|[low, high]| (low, high))))
        });
        points.collect()
    }

    /// The misses of LRU with room for each number of pages from 0 up, in one pass.
    fn lru_misses(&self, py: Python<'_>) -> PyResult<Vec<u64>> {
        if !self.0.is_all() {
            return Err(wrong("a sample has no exact curve; use points"));
        }
        Ok(py.detach(|| {
            let mut curve = LruCurve::new(self.0.footprint());
            for page in self.0.pages() {
                curve.request(*page);
            }
            curve.misses().collect()
        }))
    }
}

/// Checks the share of pages of a sample.
pub(crate) fn check_sample(share: f64) -> PyResult<()> {
    if share > 0.0 && share <= 1.0 {
        Ok(())
    } else {
        Err(wrong("sample must be above 0 and at most 1"))
    }
}
