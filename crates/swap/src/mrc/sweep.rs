//! Every policy at every size, on all CPUs.

use std::sync::atomic::{AtomicUsize, Ordering};

use rayon::prelude::*;
use unjank_host::{Error, Result};
use unjank_measure::Monitor;

use unjank_cachesim::Policy;
use unjank_cachesim::mrc::{Algorithm, Estimate, LruCurve, Sample, SampleError};

/// The miss-ratio curve of a policy or an offline optimum.
#[derive(Debug, Clone, PartialEq)]
pub struct Curve {
    /// The replacement policy of the cache, or its optimum.
    pub algorithm: Algorithm,
    /// The requested points, by ascending size.
    pub points: Vec<Point>,
    /// Additional points, where LRU's exact curve was computed: they cost nothing more.
    pub between: Vec<Point>,
}

/// A size and its miss ratio.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Point {
    /// The size in pages.
    pub capacity: u64,
    /// The miss ratio, with an interval if it is estimated.
    pub estimate: Estimate,
}

/// Additional points of LRU's curve.
const BETWEEN: u32 = 120;
/// Up to so many sizes, a cache of each takes less time than LRU's curve.
const FEW: usize = 4;

/// Runs the requests through a cache for each policy and size; exact if the sample is the trace.
/// Of more than a few sizes, LRU's exact curve takes one pass for all. After an interrupt, the
/// curves have the points that were finished.
///
/// There is one cache per CPU at a time; its memory is that of its policy
/// ([`unjank_cachesim::replacement`]).
///
/// # Errors
/// A size has room for no page or for too many.
pub fn sweep(
    sample: &Sample,
    algorithms: &[Algorithm],
    capacities: &[u64],
    monitor: &dyn Monitor,
) -> Result<Vec<Curve>> {
    let in_one = |algorithm: &Algorithm| {
        *algorithm == Policy::Lru.into() && sample.is_all() && capacities.len() > FEW
    };
    let mut tasks: Vec<(usize, Option<u64>)> = Vec::new();
    for (number, algorithm) in algorithms.iter().enumerate() {
        if in_one(algorithm) {
            tasks.push((number, None));
        } else {
            tasks.extend(capacities.iter().map(|capacity| (number, Some(*capacity))));
        }
    }
    let done = AtomicUsize::new(0);
    let stop = || monitor.stop_requested();
    let all = tasks.len().max(1) as f64;
    let found: std::result::Result<Vec<_>, SampleError> = tasks
        .par_iter()
        // One at a time: their run times differ.
        .with_max_len(1)
        .map(|(number, capacity)| {
            let algorithm = algorithms[*number];
            let points = match capacity {
                None => Some(lru(sample, capacities)),
                Some(capacity) => sample
                    .estimate(algorithm, *capacity, &stop)?
                    .map(|estimate| (vec![Point { capacity: *capacity, estimate }], Vec::new())),
            };
            // For display only: it pairs with nothing.
            let done = done.fetch_add(1, Ordering::Relaxed) + 1;
            monitor.progress(0.2 + 0.8 * done as f64 / all, &algorithm.to_string());
            Ok((*number, points))
        })
        .collect();
    let found = found.map_err(|why| Error::Invalid(why.to_string()))?;
    let curve = |(number, algorithm): (usize, &Algorithm)| {
        let mine = found.iter().filter(|(of, _)| *of == number);
        let (mut points, mut between) = (Vec::new(), Vec::new());
        for (more, others) in mine.filter_map(|(_, points)| points.as_ref()) {
            points.extend_from_slice(more);
            between.extend_from_slice(others);
        }
        Curve { algorithm: *algorithm, points, between }
    };
    Ok(algorithms.iter().enumerate().map(curve).collect())
}

/// The points of LRU's exact curve at these sizes and at additional ones.
fn lru(sample: &Sample, capacities: &[u64]) -> (Vec<Point>, Vec<Point>) {
    let mut curve = LruCurve::new(sample.footprint());
    for page in sample.pages() {
        curve.request(*page);
    }
    let misses: Vec<u64> = curve.misses().collect();
    let requests = curve.requests().max(1) as f64;
    let point = |capacity: u64| {
        let index = usize::try_from(capacity).unwrap_or(usize::MAX).min(misses.len() - 1);
        let miss_ratio = misses[index] as f64 / requests;
        Point { capacity, estimate: Estimate { miss_ratio, interval: None } }
    };
    let least = capacities.first().copied().unwrap_or(1).max(1) as f64;
    let most = capacities.last().copied().unwrap_or(1).max(1) as f64;
    let step = |at: u32| {
        let share = f64::from(at) / f64::from(BETWEEN - 1);
        (least * (most / least).powf(share)).round() as u64
    };
    let mut others: Vec<u64> = (0..BETWEEN).map(step).collect();
    others.retain(|capacity| !capacities.contains(capacity));
    others.dedup();
    (
        capacities.iter().map(|capacity| point(*capacity)).collect(),
        others.into_iter().map(point).collect(),
    )
}

#[cfg(test)]
mod tests {
    use unjank_measure::Silent;

    use super::*;
    use unjank_cachesim::mrc::Sampler;

    #[test]
    fn lrus_curve_in_one_pass_matches_a_cache_of_each_size() {
        let mut sampler = Sampler::new(1.0, 0);
        let keys: Vec<u64> =
            (0..30_000u64).map(|at| at * at % 1_009 * 77 % (1 + at % 503)).collect();
        sampler.extend(&keys).unwrap();
        let sample = sampler.finish();
        let policies = [Policy::Lru, Policy::Fifo].map(Algorithm::Online);
        let capacities = [1, 10, 100, 500, 9_999];
        let curves = sweep(&sample, &policies, &capacities, &Silent).unwrap();
        for curve in &curves {
            let sizes: Vec<u64> = curve.points.iter().map(|point| point.capacity).collect();
            assert_eq!(sizes, capacities);
            for point in curve.points.iter().chain(curve.between.iter().step_by(17)) {
                let ratio = sample.miss_ratio(curve.algorithm, point.capacity, &|| false);
                assert_eq!(ratio.unwrap(), Some(point.estimate.miss_ratio), "{curve:?}");
            }
        }
        assert!(curves[0].between.len() > 50 && curves[1].between.is_empty());
        // A cache of each of a few sizes.
        let few = sweep(&sample, &policies, &capacities[1..3], &Silent).unwrap();
        assert_eq!(few[0].points, curves[0].points[1..3]);
        assert!(few[0].between.is_empty());
    }

    #[test]
    fn an_interrupted_sweep_has_fewer_points() {
        struct Stop;
        impl Monitor for Stop {
            fn progress(&self, _fraction: f64, _doing: &str) {}
            fn stop_requested(&self) -> bool {
                true
            }
        }
        let mut sampler = Sampler::new(1.0, 0);
        sampler.extend(&[1, 2, 1]).unwrap();
        let curves = sweep(&sampler.finish(), &[Policy::Fifo.into()], &[1], &Stop).unwrap();
        assert_eq!(curves[0].points, []);
    }
}
