//! Misses above the optimum: the geometric mean over traces, with a bootstrap interval.

use unjank_cachesim::mrc::Algorithm;
use unjank_measure::stats::{bootstrap, random};

use super::trace::{Misses, TraceMisses};

/// With fewer traces there is no interval.
pub const FEWEST_TRACES: usize = 5;

const DRAWS: usize = 2_000;

/// Misses in relation to those of the optimum.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Excess {
    /// The geometric mean over traces, less one: 0.2 for a fifth more misses than the optimum.
    pub value: f64,
    /// The 95 % interval of the mean over such traces; `None` for fewer than [`FEWEST_TRACES`].
    pub interval: Option<[f64; 2]>,
    /// Traces.
    pub traces: usize,
}

/// The standing of an algorithm among others.
#[derive(Debug, Clone, PartialEq)]
pub struct Standing {
    /// The algorithm.
    pub algorithm: Algorithm,
    /// Its excess at each size; `None` if no trace has pages enough.
    pub sizes: Vec<Option<Excess>>,
    /// Its excess over all sizes; each trace counts once.
    pub overall: Option<Excess>,
    /// At how many sizes of traces no other policy has fewer misses; `None` for an optimum.
    pub best: Option<usize>,
    /// The mean logarithm of each trace, over its sizes.
    means: Vec<f64>,
}

impl Standing {
    /// Whether another one may have as few misses: the 95 % interval of the difference over the
    /// same traces includes zero. `None` for too few traces.
    pub fn may_equal(&self, other: &Self, seed: u64) -> Option<bool> {
        let (own, theirs) = (&self.means, &other.means);
        if own.len() < FEWEST_TRACES || own.len() != theirs.len() {
            return None;
        }
        let differences: Vec<f64> = own.iter().zip(theirs).map(|(one, two)| two - one).collect();
        let stream = format!("{}/{}", self.algorithm, other.algorithm);
        let [low, high] = excess(&differences, seed, &stream)?.interval?;
        Some(low <= 0.0 && high >= 0.0)
    }
}

/// The standings, those with the fewest misses first.
pub fn standings(traces: &[TraceMisses], algorithms: &[Algorithm], seed: u64) -> Vec<Standing> {
    let sizes = traces.first().map_or(0, |trace| trace.sizes.len());
    let mut standings: Vec<Standing> = algorithms
        .iter()
        .enumerate()
        .map(|(number, algorithm)| {
            let at = |size: usize| {
                let logs =
                    traces.iter().filter_map(|trace| log(trace.sizes[size].as_ref()?, number));
                excess(&logs.collect::<Vec<_>>(), seed, &format!("{algorithm}/{size}"))
            };
            let means: Vec<f64> = traces.iter().filter_map(|trace| mean(trace, number)).collect();
            // Only policies compete.
            let others: Vec<usize> =
                (0..algorithms.len()).filter(|other| !algorithms[*other].is_offline()).collect();
            let best = |misses: &&Misses| {
                let own = misses.algorithms[number];
                others.iter().all(|other| own <= misses.algorithms[*other])
            };
            Standing {
                algorithm: *algorithm,
                sizes: (0..sizes).map(at).collect(),
                overall: excess(&means, seed, &format!("{algorithm}/all")),
                best: (!algorithm.is_offline()).then(|| {
                    traces.iter().flat_map(|trace| &trace.sizes).flatten().filter(best).count()
                }),
                means,
            }
        })
        .collect();
    let rank = |standing: &Standing| standing.overall.map_or(f64::INFINITY, |all| all.value);
    standings.sort_by(|one, other| rank(one).total_cmp(&rank(other)));
    standings
}

/// The logarithm of an algorithm's misses in relation to the optimum's.
fn log(misses: &Misses, algorithm: usize) -> Option<f64> {
    let ratio = misses.algorithms[algorithm] / misses.optimum;
    (ratio.is_finite() && ratio > 0.0).then(|| ratio.ln())
}

/// The mean of the logarithms over the sizes of a trace.
fn mean(trace: &TraceMisses, algorithm: usize) -> Option<f64> {
    let logs: Vec<f64> =
        trace.sizes.iter().flatten().filter_map(|misses| log(misses, algorithm)).collect();
    (!logs.is_empty()).then(|| logs.iter().sum::<f64>() / logs.len() as f64)
}

fn excess(logs: &[f64], seed: u64, stream: &str) -> Option<Excess> {
    if logs.is_empty() {
        return None;
    }
    let mean = |places: &[usize]| {
        let mean = places.iter().map(|place| logs[*place]).sum::<f64>() / places.len() as f64;
        [mean, mean]
    };
    let mut random = random::seeded(seed, &format!("swap/score/{stream}"));
    let draws = if logs.len() < FEWEST_TRACES { 0 } else { DRAWS };
    let contrast = bootstrap::pairs(logs.len(), draws, &mut random, mean);
    let value = logs.iter().sum::<f64>() / logs.len() as f64;
    let interval = (draws > 0).then(|| contrast.interval_of_a().map(f64::exp_m1));
    Some(Excess { value: value.exp_m1(), interval, traces: logs.len() })
}

#[cfg(test)]
mod tests {
    use unjank_cachesim::Policy;

    use super::*;

    fn trace(optimum: f64, ratios: [f64; 2]) -> TraceMisses {
        let misses = |optimum: f64| Misses {
            capacity: 10,
            optimum,
            algorithms: ratios.map(|ratio| ratio * optimum).to_vec(),
        };
        let sizes = vec![Some(misses(optimum)), Some(misses(optimum / 2.0)), None];
        let inputs = Vec::new();
        TraceMisses { name: "t".to_owned(), requests: 100, footprint: 10, rate: 1.0, inputs, sizes }
    }

    #[test]
    fn means_are_geometric_and_the_best_comes_first() {
        let algorithms = [Policy::Fifo, Policy::Lru].map(Algorithm::Online);
        let traces = [trace(0.1, [4.0, 2.0]), trace(0.4, [1.0, 2.0])];
        let standings = standings(&traces, &algorithms, 0);
        // Equal means: the order stays.
        let values = standings.iter().map(|standing| standing.overall.unwrap().value);
        assert!(values.into_iter().all(|value| (value - 1.0).abs() < 1e-12), "{standings:?}");
        assert_eq!([standings[0].best, standings[1].best], [Some(2); 2]);
        assert_eq!(standings[0].sizes[2], None);
        let at = standings[0].sizes[0].unwrap();
        assert_eq!((at.traces, at.interval), (2, None));
        let better = [trace(0.1, [4.0, 2.0]), trace(0.4, [1.5, 1.0])];
        assert_eq!(super::standings(&better, &algorithms, 0)[0].algorithm, algorithms[1]);
    }

    #[test]
    fn intervals_are_over_traces() {
        let traces: Vec<TraceMisses> =
            (0..40).map(|at| trace(0.2, [1.2 + f64::from(at % 5) / 10.0, 1.5])).collect();
        let algorithms = [Policy::Fifo, Policy::Lru].map(Algorithm::Online);
        let standings = standings(&traces, &algorithms, 7);
        let [fifo, lru] = [0, 1].map(|number| standings[number].overall.unwrap());
        let [low, high] = fifo.interval.unwrap();
        assert!(low < fifo.value && fifo.value < high && high - low < 0.15, "{fifo:?}");
        let [low, high] = lru.interval.unwrap();
        assert!((lru.value - 0.5).abs() < 1e-9 && (high - low).abs() < 1e-9, "{lru:?}");
    }
}
