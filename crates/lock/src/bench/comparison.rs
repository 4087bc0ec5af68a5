//! Compares strategies: ratios over rounds with intervals, and which one won.

use unjank_measure::experiment::FEWEST_PAIRS;
use unjank_measure::stats::bootstrap;
use unjank_measure::stats::random::seeded;

use super::grid::Environment;
use super::results::{Arm, CellResult, Results, Round};

/// Resamples of a bootstrap: an interval over a few rounds needs no more.
const DRAWS: usize = 2_000;

/// The ratio of two strategies: the mean of the logarithms over the rounds that
/// both have.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Ratio {
    /// 1 if both are equal.
    pub value: f64,
    /// The 95 % interval; `None` for fewer than [`FEWEST_PAIRS`] rounds.
    pub interval: Option<[f64; 2]>,
    /// The number of rounds.
    pub rounds: usize,
}

/// The outcome of a comparison.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ComparisonOutcome {
    /// The whole interval lies above 1.
    Won,
    /// The whole interval lies below 1.
    Lost,
    /// The interval contains 1, or there is none.
    CannotTell,
}

impl Ratio {
    /// The outcome for a quantity of which more is better.
    pub fn outcome(&self) -> ComparisonOutcome {
        match self.interval {
            Some([low, _]) if low > 1.0 => ComparisonOutcome::Won,
            Some([_, high]) if high < 1.0 => ComparisonOutcome::Lost,
            _ => ComparisonOutcome::CannotTell,
        }
    }

    /// The ratio from logarithms of ratios, one for each round.
    fn of(logarithms: &[f64], seed: u64, stream: &str) -> Option<Self> {
        let n = logarithms.len();
        let mean = |drawn: &[usize]| {
            drawn.iter().map(|&place| logarithms[place]).sum::<f64>() / drawn.len() as f64
        };
        if n == 0 {
            return None;
        }
        let all: Vec<usize> = (0..n).collect();
        let interval = (n >= FEWEST_PAIRS).then(|| {
            let mut random = seeded(seed, stream);
            let contrast = bootstrap::pairs(n, DRAWS, &mut random, |drawn| [0.0, mean(drawn)]);
            contrast.interval_of_b().map(f64::exp)
        });
        Some(Self { value: mean(&all).exp(), interval, rounds: n })
    }
}

/// The mean over rounds of `of`, with its interval.
pub(super) fn mean(
    arm: &Arm,
    of: impl Fn(&Round) -> f64,
    seed: u64,
    stream: &str,
) -> (f64, Option<[f64; 2]>) {
    let values: Vec<f64> = arm.rounds.values().map(&of).collect();
    let interval = (values.len() >= FEWEST_PAIRS).then(|| {
        let mut random = seeded(seed, stream);
        let contrast = bootstrap::pairs(values.len(), DRAWS, &mut random, |drawn| {
            let sum: f64 = drawn.iter().map(|&place| values[place]).sum();
            [0.0, sum / drawn.len() as f64]
        });
        // The widened interval may extend below 0; a rate is never negative.
        contrast.interval_of_b().map(|end| end.max(0.0))
    });
    (arm.mean(of), interval)
}

/// A strategy compared with its baseline in one cell.
#[derive(Debug, Clone)]
pub struct Compared<'a> {
    /// The cell with its measurements.
    pub cell: &'a CellResult,
    /// The baseline there: perhaps the strategy itself.
    pub baseline: &'a Arm,
    /// Operations per second.
    pub operations: Ratio,
    /// CPU time per operation.
    pub cpu_time: Ratio,
}

impl Compared<'_> {
    /// Whether the strategy is its own baseline here.
    pub fn is_own(&self, strategy: &str) -> bool {
        self.baseline.strategy.name == strategy
    }
}

/// A strategy compared with its baselines in all cells of an environment.
#[derive(Debug, Clone)]
pub struct Overall<'a> {
    /// The environment of all these cells.
    pub environment: Environment,
    /// Name of the strategy.
    pub strategy: &'static str,
    /// Operations per second: the geometric mean of all cells.
    pub operations: Ratio,
    /// CPU time per operation: likewise.
    pub cpu_time: Ratio,
    /// Cell by cell.
    pub cells: Vec<Compared<'a>>,
}

impl<'a> Overall<'a> {
    /// Cells with this outcome, without those in which it is its own baseline.
    pub fn with(&self, outcome: ComparisonOutcome) -> impl Iterator<Item = &Compared<'a>> {
        let is = move |compared: &&Compared<'a>| {
            !compared.is_own(self.strategy) && compared.operations.outcome() == outcome
        };
        self.cells.iter().filter(is)
    }
}

impl Results {
    /// The environments, in the order in which they were measured.
    pub fn environments(&self) -> Vec<Environment> {
        let mut environments: Vec<Environment> =
            self.cells.iter().map(|cell| cell.environment).collect();
        environments.dedup();
        environments
    }

    /// The names of all strategies.
    pub fn strategies(&self) -> Vec<&'static str> {
        let first = self.cells.first();
        first.map_or_else(Vec::new, |cell| cell.arms.iter().map(|arm| arm.strategy.name).collect())
    }

    /// Compares a strategy with the baseline of a cell; `None` if one of them was not
    /// measured.
    pub fn compare<'a>(&self, cell: &'a CellResult, strategy: &str) -> Option<Compared<'a>> {
        let baseline = cell.baseline(&self.against)?;
        let arm = cell.arm(strategy)?;
        let ratio = |what: &str, of: fn(&Round) -> f64| {
            let logarithms: Vec<f64> =
                logarithms(arm, baseline, of).into_iter().map(|(_, value)| value).collect();
            let stream = format!("{what} {strategy} {} {}", cell.environment, cell.cell);
            Ratio::of(&logarithms, self.seed, &stream)
        };
        Some(Compared {
            cell,
            baseline,
            operations: ratio("operations", |round| round.operations)?,
            cpu_time: ratio("cpu_time", |round| round.cpu_time)?,
        })
    }

    /// Compares a strategy in all cells of an environment; `None` if it was not
    /// measured. Only rounds that all of these cells have count.
    pub fn overall(&self, environment: Environment, strategy: &'static str) -> Option<Overall<'_>> {
        let of_environment = self.cells.iter().filter(|cell| cell.environment == environment);
        let cells: Vec<Compared<'_>> =
            of_environment.filter_map(|cell| self.compare(cell, strategy)).collect();
        let ratio = |what: &str, of: fn(&Round) -> f64| {
            let all: Vec<Vec<(usize, f64)>> = cells
                .iter()
                .filter_map(|one| Some(logarithms(one.cell.arm(strategy)?, one.baseline, of)))
                .collect();
            let stream = format!("{what} {strategy} {environment}");
            Ratio::of(&by_round(&all), self.seed, &stream)
        };
        Some(Overall {
            environment,
            strategy,
            operations: ratio("operations", |round| round.operations)?,
            cpu_time: ratio("cpu_time", |round| round.cpu_time)?,
            cells,
        })
    }
}

/// The logarithms of the ratio of two strategies, for each round that both have.
fn logarithms(arm: &Arm, baseline: &Arm, of: fn(&Round) -> f64) -> Vec<(usize, f64)> {
    let both = arm.rounds.iter().filter_map(|(number, round)| {
        let other = baseline.rounds.get(number)?;
        Some((*number, (of(round) / of(other)).ln()))
    });
    both.collect()
}

/// The means of all cells, for each round that every cell has.
fn by_round(cells: &[Vec<(usize, f64)>]) -> Vec<f64> {
    let Some(first) = cells.first() else { return Vec::new() };
    let mean = |(round, _): &(usize, f64)| {
        let of = |cell: &Vec<(usize, f64)>| {
            cell.iter().find(|(number, _)| number == round).map(|(_, value)| *value)
        };
        let values: Vec<f64> = cells.iter().map(of).collect::<Option<_>>()?;
        Some(values.iter().sum::<f64>() / values.len() as f64)
    };
    first.iter().filter_map(mean).collect()
}

#[cfg(test)]
mod tests {
    use super::super::results::tests::cell;
    use super::*;

    const STEADY: &[f64] = &[100.0, 101.0, 99.0, 100.5, 99.5, 100.0];

    fn times(factor: f64) -> Vec<f64> {
        STEADY.iter().map(|value| value * factor).collect()
    }

    fn results(cells: Vec<CellResult>) -> Results {
        let against = vec!["std", "parking_lot"];
        Results { against, cells, uncontended: std::collections::BTreeMap::new(), seed: 7 }
    }

    #[test]
    fn a_ratio_is_of_rounds_not_of_means() {
        // The machine slows down by ten in mid-run, and the ratio stays.
        let drift = [100.0, 100.0, 100.0, 10.0, 10.0, 10.0];
        let twice: Vec<f64> = drift.iter().map(|value| value * 2.0).collect();
        let results = results(vec![cell(2, &[("std", &drift), ("spin", &twice)])]);
        let compared = results.compare(&results.cells[0], "spin").unwrap();
        let [low, high] = compared.operations.interval.unwrap();
        assert!((low - 2.0).abs() < 1e-9 && (high - 2.0).abs() < 1e-9);
        assert_eq!(compared.operations.outcome(), ComparisonOutcome::Won);
        assert!((compared.cpu_time.value - 1.0).abs() < 1e-12);
    }

    #[test]
    fn few_rounds_decide_nothing() {
        let [std, spin] = [[1.0; 5], [9.0; 5]];
        let results = results(vec![cell(2, &[("std", &std), ("spin", &spin)])]);
        let compared = results.compare(&results.cells[0], "spin").unwrap();
        assert_eq!(compared.operations.interval, None);
        assert_eq!(compared.operations.outcome(), ComparisonOutcome::CannotTell);
        assert!(results.compare(&results.cells[0], "busy").is_none());
    }

    #[test]
    fn cells_are_won_and_lost_and_their_mean_is_geometric() {
        let (four, quarter) = (times(4.0), times(0.25));
        let noise = [50.0, 200.0, 120.0, 80.0, 100.0, 100.0];
        let results = results(vec![
            cell(1, &[("std", STEADY), ("parking_lot", &quarter), ("spin", &four)]),
            cell(2, &[("std", &quarter), ("parking_lot", STEADY), ("spin", &quarter)]),
            cell(4, &[("std", STEADY), ("parking_lot", &quarter), ("spin", &noise)]),
        ]);
        let spin = results.overall(Environment::Idle, "spin").unwrap();
        let count = |outcome| spin.with(outcome).count();
        assert_eq!(
            [ComparisonOutcome::Won, ComparisonOutcome::Lost, ComparisonOutcome::CannotTell]
                .map(count),
            [1, 1, 1]
        );
        assert_eq!(spin.with(ComparisonOutcome::Lost).next().unwrap().cell.cell.threads, 2);
        assert!((spin.operations.value - 1.0).abs() < 0.05, "{:?}", spin.operations);
        // No outcome where a strategy is its own baseline.
        let std = results.overall(Environment::Idle, "std").unwrap();
        assert_eq!((std.cells.len(), std.with(ComparisonOutcome::CannotTell).count()), (3, 0));
        assert_eq!(std.with(ComparisonOutcome::Lost).count(), 1);
    }

    #[test]
    fn equal_strategies_rarely_win_or_lose() {
        // Twelve uniform numbers make a normal one; xorshift64 makes those.
        let mut state = 88_172_645_463_325_252_u64;
        let mut uniform = || {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            (state >> 11) as f64 / (1_u64 << 53) as f64
        };
        let mut normal = || (0..12).map(|_| uniform()).sum::<f64>() - 6.0;
        let cells = 200;
        let decided = (0..cells).filter(|cell| {
            let logarithms: Vec<f64> = (0..FEWEST_PAIRS).map(|_| 0.1 * normal()).collect();
            let ratio = Ratio::of(&logarithms, 3, &format!("cell {cell}")).unwrap();
            ratio.outcome() != ComparisonOutcome::CannotTell
        });
        let share = decided.count() as f64 / f64::from(cells);
        assert!(share < 0.1, "{share} of equal cells decided");
    }

    #[test]
    fn rounds_that_a_cell_lacks_do_not_count() {
        let cut = [vec![(0, 1.0), (1, 3.0)], vec![(0, 2.0)]];
        assert_eq!(by_round(&cut), [1.5]);
        assert!(by_round(&[]).is_empty());
    }

    #[test]
    fn means_have_intervals_that_contain_them() {
        let result = cell(1, &[("std", STEADY)]);
        let (value, interval) = mean(&result.arms[0], |round| round.operations, 1, "t");
        let [low, high] = interval.unwrap();
        assert!(low < value && value < high && (value - 100.0).abs() < 1e-9);
    }
}
