//! Measurements, cell by cell.

use std::collections::BTreeMap;

use unjank_measure::Series;

use super::grid::{Cell, Environment};
use super::strategy::Strategy;
use super::trial::TrialResult;
use crate::error::{Error, Result};

/// All measurements of a run.
#[derive(Debug, Clone)]
pub struct Results {
    /// The baselines: the others are compared with the better of these.
    pub against: Vec<&'static str>,
    /// The measured cells, environment by environment.
    pub cells: Vec<CellResult>,
    /// The cost of an uncontended empty section of each strategy, in nanoseconds.
    pub uncontended: BTreeMap<&'static str, f64>,
    /// The seed of every bootstrap.
    pub seed: u64,
}

/// One cell in one environment.
#[derive(Debug, Clone)]
pub struct CellResult {
    /// What else ran meanwhile.
    pub environment: Environment,
    /// The combination of the grid's variables.
    pub cell: Cell,
    /// The control, which takes no lock.
    pub control: Arm,
    /// The supported strategies, in the order of the options.
    pub arms: Vec<Arm>,
}

/// The measurements of one strategy in a cell.
#[derive(Debug, Clone)]
pub struct Arm {
    /// The way to wait that was measured.
    pub strategy: Strategy,
    /// The results of the trials, by the number of the round.
    pub rounds: BTreeMap<usize, Round>,
    /// Waits of all rounds; of the control, how long each operation took.
    pub waits: Option<Series>,
}

/// The result of one trial. Values that become ratios are never zero: a trial
/// without an operation counts as half an operation.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Round {
    /// Operations per second, of all threads.
    pub operations: f64,
    /// CPU time per operation, in nanoseconds, of all threads.
    pub cpu_time: f64,
    /// Jain's fairness index of the operations, if there were any.
    pub fairness: Option<f64>,
    /// Voluntary context switches per second.
    pub voluntary: f64,
    /// Involuntary context switches per second, including yields.
    pub involuntary: f64,
    /// Joules per operation, if there is a meter.
    pub energy: Option<f64>,
}

impl Round {
    fn of(result: &TrialResult) -> Self {
        let operations = result.operations.iter().sum::<u64>() as f64;
        let operations = operations.max(0.5);
        let seconds = result.elapsed.as_secs_f64().max(1e-9);
        Self {
            operations: operations / seconds,
            cpu_time: result.cpu_time.get().max(1) as f64 / operations,
            fairness: jain(&result.operations),
            voluntary: result.voluntary as f64 / seconds,
            involuntary: result.involuntary as f64 / seconds,
            energy: result.energy.map(|energy| energy.0 / operations),
        }
    }
}

impl Results {
    /// About the limit for any lock in a cell, relative to the baseline. It is measured as well, at
    /// other moments than the strategies, so it is raised to what the best of them did.
    pub fn ceiling(&self, cell: &CellResult) -> Option<f64> {
        let cheapest = self.uncontended.values().copied().min_by(f64::total_cmp)?;
        let baseline = cell.baseline(&self.against)?.mean(|round| round.operations);
        let limit = cell.ceiling(cheapest)? / baseline;
        let done = cell.arms.iter().filter_map(|arm| self.compare(cell, arm.strategy.name));
        Some(done.map(|compared| compared.operations.value).fold(limit, f64::max))
    }

    /// The geometric mean of the ceilings of an environment's cells.
    pub fn overall_ceiling(&self, environment: Environment) -> Option<f64> {
        let cells = self.cells.iter().filter(|cell| cell.environment == environment);
        let logarithms: Vec<f64> =
            cells.filter_map(|cell| self.ceiling(cell)).map(f64::ln).collect();
        let n = logarithms.len() as f64;
        (n > 0.0).then(|| (logarithms.iter().sum::<f64>() / n).exp())
    }
}

impl CellResult {
    /// A cell without measurements.
    pub(crate) fn new(environment: Environment, cell: Cell, strategies: &[Strategy]) -> Self {
        let arms = strategies.iter().copied().map(Arm::new).collect();
        Self { environment, cell, control: Arm::new(Strategy::control()), arms }
    }

    /// The strategy with this name, if it was measured.
    pub fn arm(&self, name: &str) -> Option<&Arm> {
        self.arms.iter().find(|arm| arm.strategy.name == name && !arm.rounds.is_empty())
    }

    /// The better of `against` here: the one with more operations in the mean of
    /// all rounds.
    pub fn baseline(&self, against: &[&str]) -> Option<&Arm> {
        let known = against.iter().filter_map(|name| self.arm(name));
        known.max_by(|one, other| {
            let of = |arm: &Arm| arm.mean(|round| round.operations);
            of(one).total_cmp(&of(other))
        })
    }

    /// The limit of operations per second for any lock here, as measured. The smaller of
    /// two: those of the same threads without a lock, and those of sections one after
    /// the other on one CPU, each with the `cheapest` uncontended lock (nanoseconds).
    pub fn ceiling(&self, cheapest: f64) -> Option<f64> {
        if self.control.rounds.is_empty() {
            return None;
        }
        let one_by_one = 1e9 / (self.cell.section.get() as f64 + cheapest).max(1e-3);
        Some(one_by_one.min(self.control.mean(|round| round.operations)))
    }

    /// The share of CPU time beyond the useful time, which is the work and an
    /// uncontended section.
    pub fn wasted(&self, arm: &Arm, uncontended: f64) -> Option<f64> {
        if self.control.rounds.is_empty() || arm.rounds.is_empty() {
            return None;
        }
        let useful = self.control.mean(|round| round.cpu_time) + uncontended;
        Some((1.0 - useful / arm.mean(|round| round.cpu_time)).max(0.0))
    }
}

impl Arm {
    fn new(strategy: Strategy) -> Self {
        Self { strategy, rounds: BTreeMap::new(), waits: None }
    }

    /// Adds the result of a trial.
    pub(crate) fn add(&mut self, round: usize, result: &TrialResult) -> Result<()> {
        let name = if self.strategy.is_control() { FLOOR } else { WAIT };
        let waits = self.waits.get_or_insert_with(|| Series::new(name));
        waits.absorb_record(&result.waits).map_err(|error| Error::Elsewhere(error.to_string()))?;
        self.rounds.insert(round, Round::of(result));
        Ok(())
    }

    /// The mean of all rounds; zero without any.
    pub fn mean(&self, of: impl Fn(&Round) -> f64) -> f64 {
        self.rounds.values().map(of).sum::<f64>() / self.rounds.len().max(1) as f64
    }

    /// Jain's fairness index, in the mean of the rounds with operations.
    pub fn fairness(&self) -> Option<f64> {
        let known: Vec<f64> = self.rounds.values().filter_map(|round| round.fairness).collect();
        (!known.is_empty()).then(|| known.iter().sum::<f64>() / known.len() as f64)
    }

    /// The quantile `q` of all waits, in nanoseconds, if any was timed.
    pub fn wait(&self, q: f64) -> Option<f64> {
        let waits = self.waits.as_ref().filter(|waits| waits.n() > 0)?;
        Some(waits.quantile(q) as f64)
    }
}

/// The series of waits.
pub(super) const WAIT: &str = "lock/bench/wait";
/// The series of the control: lengths of operations without a lock.
pub(super) const FLOOR: &str = "lock/bench/floor";

/// Jain's fairness index: 1 if all threads did as many operations, 1/n if one did
/// all (Jain, Chiu and Hawe, *A Quantitative Measure of Fairness*, DEC TR-301,
/// 1984); `None` without operations.
fn jain(operations: &[u64]) -> Option<f64> {
    let sum: f64 = operations.iter().map(|&done| done as f64).sum();
    let squares: f64 = operations.iter().map(|&done| (done as f64).powi(2)).sum();
    (squares > 0.0).then(|| sum * sum / (operations.len() as f64 * squares))
}

#[cfg(test)]
pub(super) mod tests {
    use unjank_host::{Joules, Nanos};

    use super::*;

    /// A cell in which each strategy has these operations per second, round by
    /// round, at 100 ns of CPU time each.
    pub(in crate::bench) fn cell(threads: usize, arms: &[(&str, &[f64])]) -> CellResult {
        let strategies: Vec<Strategy> =
            arms.iter().map(|(name, _)| Strategy::named(name).unwrap()).collect();
        let cell = Cell { threads, section: Nanos(100), outside: Nanos(200) };
        let mut result = CellResult::new(Environment::Idle, cell, &strategies);
        for (arm, (_, rounds)) in result.arms.iter_mut().zip(arms) {
            arm.rounds = rounds.iter().map(|&operations| round(operations)).enumerate().collect();
        }
        result
    }

    fn round(operations: f64) -> Round {
        let [voluntary, involuntary] = [0.0, 0.0];
        let fairness = Some(1.0);
        Round { operations, cpu_time: 100.0, fairness, voluntary, involuntary, energy: None }
    }

    fn trial_result(operations: &[u64]) -> TrialResult {
        let mut waits = Series::new("");
        waits.record(Nanos(70));
        TrialResult {
            operations: operations.to_vec(),
            elapsed: Nanos::from_millis(500),
            cpu_time: Nanos::from_millis(1_000),
            voluntary: 3,
            involuntary: 4,
            energy: Some(Joules(2.0)),
            waits: waits.finish(),
        }
    }

    #[test]
    fn jains_index_goes_from_one_to_one_over_n() {
        let of = |operations: &[u64]| jain(operations).unwrap();
        assert!((of(&[5, 5, 5]) - 1.0).abs() < 1e-12);
        assert!((of(&[9, 0, 0]) - 1.0 / 3.0).abs() < 1e-12);
        assert!((of(&[4, 2]) - 0.9).abs() < 1e-12);
        assert_eq!(jain(&[0, 0]), None);
    }

    #[test]
    fn a_trial_becomes_rates() {
        let round = Round::of(&trial_result(&[60, 40]));
        assert_eq!((round.operations, round.cpu_time), (200.0, 1e7));
        assert_eq!((round.voluntary, round.involuntary, round.energy), (6.0, 8.0, Some(0.02)));
        let none = Round::of(&trial_result(&[0])).operations;
        assert!((none - 1.0).abs() < 1e-12, "as half an operation: {none}");
    }

    #[test]
    fn rounds_are_added_up() {
        let mut result = cell(2, &[("spin", &[])]);
        let arm = &mut result.arms[0];
        arm.add(0, &trial_result(&[60, 40])).unwrap();
        arm.add(1, &trial_result(&[100, 100])).unwrap();
        assert!((arm.mean(|round| round.operations) - 300.0).abs() < 1e-9);
        assert_eq!(arm.wait(0.5), Some(70.0));
        assert_eq!(arm.waits.as_ref().unwrap().n(), 2);
    }

    #[test]
    fn the_baseline_is_the_better_in_the_mean() {
        let result = cell(2, &[("std", &[10.0, 30.0]), ("parking_lot", &[19.0, 19.0])]);
        let name = |against: &[&str]| result.baseline(against).map(|arm| arm.strategy.name);
        assert_eq!(name(&["std", "parking_lot"]), Some("std"));
        assert_eq!(name(&["parking_lot"]), Some("parking_lot"));
        assert_eq!(name(&["spin"]), None);
    }

    #[test]
    fn a_ceiling_is_the_lower_of_two() {
        let mut result = cell(2, &[("std", &[1e6])]);
        assert_eq!(result.ceiling(10.0), None, "without the control");
        result.control.rounds.insert(0, round(4e6));
        assert_eq!(result.ceiling(25.0), Some(4e6), "100 ns and 25 allow for more");
        result.control.rounds.insert(0, round(20e6));
        assert_eq!(result.ceiling(25.0), Some(8e6));
        let uncontended = [("std", 30.0), ("spin", 25.0)].into();
        let results = Results { against: vec!["std"], cells: vec![result], uncontended, seed: 1 };
        let ceiling = results.overall_ceiling(Environment::Idle).unwrap();
        assert!((ceiling - 8.0).abs() < 1e-9, "{ceiling}");
        assert_eq!(results.overall_ceiling(Environment::Load), None);
    }

    #[test]
    fn a_ceiling_is_never_below_what_a_strategy_did() {
        let mut result = cell(2, &[("std", &[4e6]), ("spin", &[5e6])]);
        let uncontended = [("std", 25.0)].into();
        let results = Results { against: vec!["std"], cells: Vec::new(), uncontended, seed: 1 };
        for (control, expected) in [(2e6, 1.25), (4.8e6, 1.25), (6e6, 1.5)] {
            result.control.rounds.insert(0, round(control));
            let ceiling = results.ceiling(&result).unwrap();
            assert!((ceiling - expected).abs() < 1e-9, "{control}: {ceiling}");
        }
        result.arms.truncate(1);
        result.control.rounds.insert(0, round(2e6));
        assert_eq!(results.ceiling(&result), Some(1.0), "the baseline itself");
    }

    #[test]
    fn time_beyond_work_is_wasted() {
        let mut result = cell(2, &[("std", &[10.0])]);
        let wasted = |result: &CellResult| result.wasted(&result.arms[0], 20.0);
        assert_eq!(wasted(&result), None, "without the control");
        result.control.rounds.insert(0, Round { cpu_time: 30.0, ..round(1.0) });
        assert_eq!(wasted(&result), Some(0.5));
        result.control.rounds.insert(0, Round { cpu_time: 300.0, ..round(1.0) });
        assert_eq!(wasted(&result), Some(0.0));
    }
}
