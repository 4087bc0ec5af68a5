//! Runs the trials of all strategies in all cells, in random order.

use std::collections::BTreeMap;

use unjank_host::{Nanos, Support};
use unjank_measure::experiment::rounds;
use unjank_measure::{Fact, Findings, Monitor, Plan, Unit};

use super::findings;
use super::grid::{Cell, Environment};
use super::options::Options;
use super::results::{Arm, CellResult, Results};
use super::strategy::Strategy;
use super::surroundings::{Setup, Surroundings};
use super::trial::Task;
use super::work::Pace;
use crate::energy::TrialMeter;
use crate::error::{Error, Result};

/// Runs a trial of every strategy in every cell and environment, round by round.
/// The order is random, and reversed in every second round. A request to stop ends
/// the run after the current trial; the result has the trials until then.
///
/// # Errors
/// `Invalid` options; a lock that does not exclude; errors of the kernel.
pub fn run(
    options: &Options,
    setup: &Setup<'_>,
    seed: u64,
    monitor: &dyn Monitor,
) -> Result<(Results, Findings)> {
    options.check()?;
    let mut findings = Findings::default();
    monitor.progress(0.0, "calibrating work");
    let pace = Pace::calibrate()?;
    findings.facts.push(Fact::new("lock/bench/multiplication", pace.nanos, Unit::Nanoseconds));
    let uncontended = uncontended(options, &mut findings)?;
    let strategies: Vec<Strategy> = options
        .strategies
        .iter()
        .copied()
        .filter(|strategy| uncontended.contains_key(strategy.name))
        .collect();
    if let Some(reason) = setup.meter.missing() {
        findings.not_supported("lock/bench/energy", reason.to_owned());
    }
    let mut bench = Bench {
        options,
        pace,
        cpus: setup.cpus.len(),
        meter: &setup.meter,
        monitor,
        all: options.duration(setup.cpus.len()),
        done: Nanos::ZERO,
    };
    let mut results =
        Results { against: options.against.clone(), cells: Vec::new(), uncontended, seed };
    for &environment in &options.environments {
        if monitor.stop_requested() {
            break;
        }
        let mut scene = match Surroundings::make(environment, setup)? {
            Support::Yes(scene) => scene,
            Support::No(reason) => {
                findings.not_supported(format!("lock bench --environment {environment}"), reason);
                continue;
            }
        };
        let cells = bench.run_all_trials(environment, &strategies, &mut scene, seed)?;
        results.cells.extend(cells);
        if let Some(throttled) = scene.throttled()? {
            let fact = Fact::new("lock/bench/throttled_periods", throttled as f64, Unit::Count);
            findings.facts.push(fact.with_label("environment", environment.name()));
        }
    }
    if monitor.stop_requested() {
        findings.warn("interrupted: cells may have fewer rounds than requested, or none");
        results.cells.retain(|cell| cell.arms.iter().any(|arm| !arm.rounds.is_empty()));
    }
    findings::note(&results, &mut findings);
    Ok((results, findings))
}

/// The supported strategies, with the cost of an uncontended section of each.
fn uncontended(options: &Options, findings: &mut Findings) -> Result<BTreeMap<&'static str, f64>> {
    let mut costs = BTreeMap::new();
    for strategy in &options.strategies {
        match strategy.uncontended() {
            Ok(cost) => {
                costs.insert(strategy.name, cost);
            }
            Err(Error::Host(unjank_host::Error::Unsupported(reason))) => {
                findings.not_supported(format!("lock bench with {}", strategy.name), reason);
            }
            Err(error) => return Err(error),
        }
    }
    Ok(costs)
}

/// A run in progress.
struct Bench<'a> {
    options: &'a Options,
    pace: Pace,
    cpus: usize,
    meter: &'a TrialMeter,
    monitor: &'a dyn Monitor,
    /// The length of the run, and the part of it that is done.
    all: Nanos,
    done: Nanos,
}

impl Bench<'_> {
    /// Runs all rounds in one environment. Rounds are the outer loop, so that an
    /// interrupted run has fewer rounds rather than fewer cells.
    fn run_all_trials(
        &mut self,
        environment: Environment,
        strategies: &[Strategy],
        scene: &mut Surroundings,
        seed: u64,
    ) -> Result<Vec<CellResult>> {
        let cells = self.options.cells();
        let mut results: Vec<CellResult> =
            cells.iter().map(|&cell| CellResult::new(environment, cell, strategies)).collect();
        // The control is the first arm.
        let arms = strategies.len() + 1;
        let orders: Vec<Vec<Vec<usize>>> = (0_u64..)
            .take(cells.len())
            .map(|number| {
                let seed = seed.wrapping_add(number);
                rounds(arms, &Plan { pairs: self.options.rounds, warm_up: 0, seed })
            })
            .collect();
        for round in 0..self.options.rounds {
            for (result, order) in results.iter_mut().zip(&orders) {
                for &number in &order[round] {
                    if self.monitor.stop_requested() {
                        return Ok(results);
                    }
                    let arm = match number.checked_sub(1) {
                        None => &mut result.control,
                        Some(place) => &mut result.arms[place],
                    };
                    self.run_trial(environment, result.cell, arm, round, scene)?;
                }
            }
        }
        Ok(results)
    }

    fn run_trial(
        &mut self,
        environment: Environment,
        cell: Cell,
        arm: &mut Arm,
        round: usize,
        scene: &mut Surroundings,
    ) -> Result<()> {
        let share = self.done.get() as f64 / self.all.get().max(1) as f64;
        let (of, name) = (self.options.rounds, arm.strategy.name);
        let doing = format!("{environment}, round {} of {of}: {cell}: {name}", round + 1);
        self.monitor.progress(share.min(1.0), &doing);
        let task = Task {
            threads: cell.threads,
            section: self.pace.turns(cell.section),
            outside: self.pace.turns(cell.outside),
            phase: environment.phase(cell, self.options.phase, self.cpus),
            pinned: None,
            nicer: None,
        };
        let result = scene.run_trial(arm.strategy, task, &|| self.meter.read())?;
        arm.add(round, &result)?;
        self.done = self.done + self.options.trial_duration(environment, cell, self.cpus);
        Ok(())
    }
}
