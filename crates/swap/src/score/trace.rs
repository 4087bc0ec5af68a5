//! The misses of one trace under each policy, beside the optimum.

use std::sync::atomic::{AtomicUsize, Ordering};

use rayon::prelude::*;
use unjank_cachesim::bounds::Belady;
use unjank_cachesim::mrc::sampled::MIN_ROOM;
use unjank_cachesim::mrc::{Algorithm, SampleError};
use unjank_host::{Error, Result};
use unjank_measure::Monitor;

use crate::mrc::Requests;
use crate::trace::InputSummary;

/// The optimum from which distances are measured: no policy has fewer misses.
pub const OPTIMUM: Belady = Belady::Bypass;

/// The misses of one trace.
#[derive(Debug, Clone, PartialEq)]
pub struct TraceMisses {
    /// Its name.
    pub name: String,
    /// Its requests.
    pub requests: u64,
    /// Its different pages.
    pub footprint: u64,
    /// The share of its pages that was simulated, 0–1.
    pub rate: f64,
    /// The files, with the lines and records that were skipped.
    pub inputs: Vec<InputSummary>,
    /// The misses at each size; `None` where the cache would have no room for a page, or too little
    /// room in a sample, or the capacity of an earlier size.
    pub sizes: Vec<Option<Misses>>,
}

/// Misses for each request at one size of the cache. In a sample they may be above 1.
#[derive(Debug, Clone, PartialEq)]
pub struct Misses {
    /// The size in pages.
    pub capacity: u64,
    /// Those of Belady's optimum with bypass.
    pub optimum: f64,
    /// Those of each algorithm.
    pub algorithms: Vec<f64>,
}

/// Simulates a trace at sizes that are shares of its different pages; `None` if the user
/// interrupted it.
///
/// # Errors
/// A size has room for too many pages, or the trace has too many requests.
pub fn measure(
    name: &str,
    requests: &Requests,
    algorithms: &[Algorithm],
    shares: &[f64],
    monitor: &dyn Monitor,
) -> Result<Option<TraceMisses>> {
    let sample = &requests.sample;
    let footprint = sample.whole_footprint();
    let mut capacities: Vec<u64> = Vec::new();
    for share in shares {
        let capacity = (footprint as f64 * share) as u64;
        let is_too_small = !sample.is_all() && (capacity as f64 * sample.rate()) < MIN_ROOM;
        let is_left_out = is_too_small || capacities.contains(&capacity);
        capacities.push(if is_left_out { 0 } else { capacity });
    }
    let mut all = vec![Algorithm::Offline(OPTIMUM)];
    all.extend_from_slice(algorithms);
    let tasks: Vec<(u64, Algorithm)> = capacities
        .iter()
        .filter(|capacity| **capacity > 0)
        .flat_map(|capacity| all.iter().map(|algorithm| (*capacity, *algorithm)))
        .collect();
    let done = AtomicUsize::new(0);
    let stop = || monitor.stop_requested();
    let ratios: std::result::Result<Option<Vec<f64>>, SampleError> = tasks
        .par_iter()
        // One at a time: their run times differ.
        .with_max_len(1)
        .map(|(capacity, algorithm)| {
            let ratio = sample.misses_per_request(*algorithm, *capacity, &stop)?;
            // For display only: it pairs with nothing.
            let done = done.fetch_add(1, Ordering::Relaxed) + 1;
            let share = done as f64 / tasks.len() as f64;
            monitor.progress(0.2 + 0.8 * share, &algorithm.to_string());
            Ok(ratio)
        })
        .collect();
    let Some(ratios) = ratios.map_err(|why| Error::Invalid(why.to_string()))? else {
        return Ok(None);
    };
    let mut ratios = ratios.chunks(all.len());
    let at = |capacity: &u64| {
        let [optimum, algorithms @ ..] = (*capacity > 0).then(|| ratios.next())?? else {
            return None;
        };
        let (optimum, algorithms) = (*optimum, algorithms.to_vec());
        Some(Misses { capacity: *capacity, optimum, algorithms })
    };
    Ok(Some(TraceMisses {
        name: name.to_owned(),
        requests: sample.requests(),
        footprint,
        rate: sample.rate(),
        inputs: requests.summary.inputs.clone(),
        sizes: capacities.iter().map(at).collect(),
    }))
}

#[cfg(test)]
mod tests {
    use unjank_cachesim::Policy;
    use unjank_cachesim::mrc::Sampler;
    use unjank_measure::Silent;

    use super::*;
    use crate::trace::Summary;

    #[test]
    fn a_trace_has_misses_at_each_size_with_room_for_a_page() {
        let mut sampler = Sampler::new(1.0, 0);
        let keys: Vec<u64> = (0..20_000u64).map(|at| at * at % 1_009 % (1 + at % 503)).collect();
        sampler.extend(&keys).unwrap();
        let algorithms = [Policy::Lru.into(), Algorithm::Offline(Belady::Bypass)];
        let shares = [0.000_01, 0.1, 0.5, 0.100_001];
        let requests = Requests { sample: sampler.finish(), summary: Summary::default() };
        let found = measure("t", &requests, &algorithms, &shares, &Silent);
        let found = found.unwrap().unwrap();
        assert_eq!((found.requests, found.sizes.len()), (20_000, 4));
        // Too few pages, and the same capacity again.
        assert_eq!((&found.sizes[0], &found.sizes[3]), (&None, &None));
        for misses in found.sizes.iter().flatten() {
            assert!(misses.optimum > 0.0 && misses.algorithms[0] > misses.optimum, "{misses:?}");
            assert!((misses.algorithms[1] - misses.optimum).abs() < 1e-12);
        }
    }
}
