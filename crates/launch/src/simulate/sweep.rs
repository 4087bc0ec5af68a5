//! Simulates every combination of tunables' values, in parallel.

use rayon::prelude::*;
use unjank_host::{Error, Result};
use unjank_measure::record::Axis;
use unjank_measure::{Curve, Fact, Findings, Monitor, Point, Unit, pareto_front};

use super::{Mean, NamedBoost, Scenario};
use crate::model::{Governor, Tunable, Write};

/// The most combinations.
const MOST: usize = 100_000;
/// Points of the Pareto front in the table.
const SHOWN: usize = 40;
/// Combinations between two checks whether to stop.
const BATCH: usize = 256;

/// Values of one tunable.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Sweep {
    /// The tunable that is varied.
    pub tunable: Tunable,
    /// Its values, in the unit that [`Tunable::measure`] gives.
    pub values: Vec<u32>,
}

impl Sweep {
    /// `count` values from `least` to `most`, evenly spread and rounded.
    pub fn even(tunable: Tunable, least: u32, most: u32, count: u32) -> Self {
        let count = count.max(2);
        let mut values: Vec<u32> = (0..count)
            .map(|index| {
                let span = u64::from(most.saturating_sub(least));
                let part = (span * u64::from(index)).div_ceil(u64::from(count - 1));
                least + part as u32
            })
            .collect();
        values.dedup();
        Self { tunable, values }
    }
}

/// One combination and its means.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Tried {
    pub(super) values: Vec<Write>,
    pub(super) mean: Mean,
}

/// Simulates every profile with every combination of the values, under `boost`.
/// Reports the Pareto front: the combinations that no other beats in both launch
/// time and energy of the CPUs.
///
/// # Errors
/// `Invalid` as for [`run`](super::run), and for too many combinations.
pub fn run_sweep(
    scenario: &Scenario,
    sweeps: &[Sweep],
    boost: &NamedBoost,
    monitor: &dyn Monitor,
) -> Result<Findings> {
    let combinations = combinations(sweeps)?;
    let mut tried = Vec::with_capacity(combinations.len());
    for (index, batch) in combinations.chunks(BATCH).enumerate() {
        if monitor.stop_requested() {
            break;
        }
        let done = (index * BATCH) as f64 / combinations.len() as f64;
        monitor.progress(done, &format!("{} combinations", combinations.len()));
        let more: Vec<Tried> = batch
            .par_iter()
            .map(|values| {
                let governor = if boost.performance {
                    Governor::Performance
                } else {
                    scenario.governor_with(values)?
                };
                let phases = scenario.simulate(&governor, &boost.boost)?;
                Ok(Tried { values: values.clone(), mean: Mean::of(&phases) })
            })
            .collect::<Result<_>>()?;
        tried.extend(more);
    }
    Ok(report(&tried, combinations.len()))
}

fn combinations(sweeps: &[Sweep]) -> Result<Vec<Vec<Write>>> {
    let count = sweeps.iter().try_fold(1_usize, |n, sweep| n.checked_mul(sweep.values.len()));
    if count.is_none_or(|count| count > MOST) {
        return Err(Error::Invalid(format!("more than {MOST} combinations; take fewer values")));
    }
    let mut all = vec![Vec::new()];
    for sweep in sweeps {
        all = all
            .into_iter()
            .flat_map(|values: Vec<Write>| {
                sweep.values.iter().map(move |value| {
                    let mut values = values.clone();
                    values.push(Write { tunable: sweep.tunable, value: *value });
                    values
                })
            })
            .collect();
    }
    Ok(all)
}

fn report(tried: &[Tried], planned: usize) -> Findings {
    let mut findings = Findings::default();
    let best = pareto_front(tried, |tried| [tried.mean.launch, tried.mean.cpu.0]);
    let n = tried.len() as u64;
    findings.facts.push(Fact::new("launch/simulate/combinations", n as f64, Unit::Count));
    if tried.len() < planned {
        findings.warn(format!("stopped after {} of {planned} combinations", tried.len()));
    }
    let point =
        |tried: &Tried| Point { x: tried.mean.launch * 1e9, y: tried.mean.cpu.0, interval: None };
    let curve = |name: &str, points: Vec<Point>| Curve {
        name: format!("launch/simulate/{name}"),
        x: Axis::new("launch time, mean over phases (modelled)", Unit::Nanoseconds),
        y: Axis::new("energy of the CPUs for each launch (modelled)", Unit::Joules),
        labels: [("points".to_owned(), "front".to_owned())].into(),
        points,
    };
    findings.curves.push(curve("pareto", best.iter().map(|tried| point(tried)).collect()));
    for tried in best.iter().take(SHOWN) {
        let named: Vec<String> = tried
            .values
            .iter()
            .map(|write| format!("{} {}", write.tunable, write.tunable.show(write.value)))
            .collect();
        let mut fact = |name: &str, value: f64, unit| {
            let mut fact = Fact::new(format!("launch/simulate/pareto/{name}"), value, unit);
            fact.labels.insert("values".to_owned(), named.join(", "));
            findings.facts.push(fact);
        };
        fact("launch", tried.mean.launch * 1e9, Unit::Nanoseconds);
        fact("cpu_energy", tried.mean.cpu.0, Unit::Joules);
    }
    if best.len() > SHOWN {
        findings.warn(format!(
            "the table has the fastest {SHOWN} of {} combinations on the Pareto front; the curve has \
             all",
            best.len()
        ));
    }
    findings
}

#[cfg(test)]
mod tests {
    use unjank_measure::monitor::Silent;

    use super::super::tests::{boost, scenario};
    use super::*;
    use crate::model::Boost;

    #[test]
    fn values_are_evenly_spread() {
        let sweep = Sweep::even(Tunable::UpThreshold, 60, 95, 8);
        assert_eq!(sweep.values, [60, 65, 70, 75, 80, 85, 90, 95]);
        assert_eq!(Sweep::even(Tunable::UpThreshold, 5, 6, 9).values, [5, 6]);
    }

    #[test]
    fn a_sweep_tries_every_combination_and_keeps_the_pareto_front() {
        let sweeps = [
            Sweep::even(Tunable::SamplingRate, 20_000, 200_000, 4),
            Sweep::even(Tunable::UpThreshold, 60, 95, 3),
        ];
        let none = boost("none", Boost::none());
        let findings = run_sweep(&scenario("ondemand"), &sweeps, &none, &Silent).unwrap();
        let tried = findings.fact_named("launch/simulate/combinations").unwrap();
        assert_eq!(tried.value.to_bits(), 12_f64.to_bits());
        let front = &findings.curves[0].points;
        assert!(!front.is_empty());
        for pair in front.windows(2) {
            assert!(pair[0].x < pair[1].x && pair[0].y > pair[1].y);
        }
        assert_eq!(findings.facts.len(), 1 + 2 * front.len());
    }

    #[test]
    fn too_many_combinations_are_refused() {
        let sweep = Sweep { tunable: Tunable::UpThreshold, values: (0..1_000).collect() };
        let none = boost("none", Boost::none());
        let sweeps = [sweep.clone(), sweep];
        let error = run_sweep(&scenario("ondemand"), &sweeps, &none, &Silent).unwrap_err();
        assert!(error.to_string().contains("more than 100000 combinations"));
        let wrong = [Sweep { tunable: Tunable::FreqStep, values: vec![1] }];
        let error = run_sweep(&scenario("ondemand"), &wrong, &none, &Silent).unwrap_err();
        assert_eq!(error.to_string(), "ondemand: this governor has no freq_step");
    }
}
