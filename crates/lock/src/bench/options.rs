//! Options of `lock bench`, and how long a run takes.

use unjank_host::{Error, Nanos, Result};
use unjank_measure::experiment::FEWEST_PAIRS;

use super::grid::{Cell, Environment};
use super::strategy::Strategy;

/// Length of a trial in tenths of a phase: the first phase is a fifth of each of
/// the other two.
const TENTHS_OF_PHASES: u64 = 22;

/// The most threads: each has a histogram of its waits.
const MOST_THREADS: usize = 1_024;
/// The longest section, and the longest time outside.
const LONGEST_WORK: Nanos = Nanos::from_millis(10);
/// The shortest and the longest phase.
const PHASES: [Nanos; 2] = [Nanos::from_millis(1), Nanos::from_millis(60_000)];
const MOST_ROUNDS: usize = 1_000;

/// Options of `lock bench`.
#[derive(Debug, Clone)]
pub struct Options {
    /// The ways to wait to compare; unsupported ones are left out and noted.
    pub strategies: Vec<Strategy>,
    /// The baselines: in each cell, the others are compared with the better of these.
    pub against: Vec<&'static str>,
    /// Numbers of threads.
    pub threads: Vec<usize>,
    /// Times for which a thread holds the lock.
    pub sections: Vec<Nanos>,
    /// Times for which a thread works without the lock.
    pub outsides: Vec<Nanos>,
    /// The environments in which every cell is measured.
    pub environments: Vec<Environment>,
    /// Trials of each strategy in each cell.
    pub rounds: usize,
    /// The length of the phase that counts operations, and of the one that times
    /// waits, in a cell with few threads.
    pub phase: Nanos,
}

impl Options {
    /// The defaults: some minutes.
    pub fn usual() -> Self {
        Self {
            strategies: Strategy::all().iter().copied().filter(|strategy| strategy.usual).collect(),
            against: vec!["std", "parking_lot"],
            threads: vec![1, 2, 4, 8, 16, 32],
            sections: vec![Nanos::ZERO, Nanos(100), Nanos::from_micros(1), Nanos::from_micros(20)],
            outsides: vec![Nanos::ZERO, Nanos::from_micros(2)],
            environments: vec![Environment::Idle],
            rounds: FEWEST_PAIRS,
            phase: Nanos::from_millis(100),
        }
    }

    /// Less than a minute.
    pub fn quick() -> Self {
        Self {
            threads: vec![1, 2, 8],
            sections: vec![Nanos(100), Nanos::from_micros(5)],
            outsides: vec![Nanos::from_micros(1)],
            phase: Nanos::from_millis(60),
            ..Self::usual()
        }
    }

    /// The paper's experiment: threads of a pool take tasks from one queue that a
    /// lock protects. Taking a task is the section; running it is the time outside,
    /// long for a coarse grain and short for a fine one.
    pub fn paper() -> Self {
        let names = ["sleep0", "pause-yield", "busy", "sleep1", "std", "parking_lot", "unjank"];
        Self {
            strategies: names.into_iter().filter_map(|name| Strategy::named(name).ok()).collect(),
            against: vec![PAPERS_BASELINE],
            sections: vec![Nanos(100)],
            outsides: vec![FINE, MEDIUM, COARSE],
            ..Self::usual()
        }
    }

    /// The paper's experiment in about a minute.
    pub fn paper_quick() -> Self {
        Self { threads: vec![1, 8, 32], phase: Nanos::from_millis(50), ..Self::paper() }
    }

    /// Replaces the strategies by the baselines and these.
    ///
    /// # Errors
    /// `Invalid` for a name that no strategy has.
    pub fn with_strategies<'a>(mut self, names: impl IntoIterator<Item = &'a str>) -> Result<Self> {
        self.strategies.clear();
        for name in self.against.iter().copied().chain(names) {
            let known: Vec<Strategy> =
                if name == "all" { Strategy::all().into() } else { vec![Strategy::named(name)?] };
            for strategy in known {
                if self.strategies.iter().all(|other| other.name != strategy.name) {
                    self.strategies.push(strategy);
                }
            }
        }
        Ok(self)
    }

    /// Checks the ranges.
    ///
    /// # Errors
    /// `Invalid` names the value that is out of range.
    pub fn check(&self) -> Result<()> {
        let wrong = |text: String| Err(Error::Invalid(text));
        if let Some(threads) = self.threads.iter().find(|&&n| n == 0 || n > MOST_THREADS) {
            return wrong(format!("{threads} threads: must be 1 to {MOST_THREADS}"));
        }
        let works = self.sections.iter().chain(&self.outsides);
        if let Some(work) = works.copied().find(|&work| work > LONGEST_WORK) {
            return wrong(format!("work of {work}: must be at most {LONGEST_WORK}"));
        }
        if self.rounds == 0 || self.rounds > MOST_ROUNDS {
            return wrong(format!("{} rounds: must be 1 to {MOST_ROUNDS}", self.rounds));
        }
        let [shortest, longest] = PHASES;
        if self.phase < shortest || self.phase > longest {
            return wrong(format!("phases of {}: must be {shortest} to {longest}", self.phase));
        }
        if self.cells().is_empty() || self.environments.is_empty() || self.strategies.is_empty() {
            return wrong("there is nothing to compare".to_owned());
        }
        Ok(())
    }

    /// All combinations once, ordered by outside, section and threads.
    pub fn cells(&self) -> Vec<Cell> {
        let mut cells = Vec::new();
        for &outside in &self.outsides {
            for &section in &self.sections {
                for &threads in &self.threads {
                    let cell = Cell { threads, section, outside };
                    if !cells.contains(&cell) {
                        cells.push(cell);
                    }
                }
            }
        }
        cells
    }

    /// How long a run takes if threads may use this many CPUs, without the time that
    /// threads which still wait at the end need.
    pub fn duration(&self, cpus: usize) -> Nanos {
        let mut all = Nanos::ZERO;
        for &environment in &self.environments {
            for cell in self.cells() {
                all = all + self.trial_duration(environment, cell, cpus);
            }
        }
        // The control has trials like a strategy.
        all.times(((self.strategies.len() + 1) * self.rounds) as u64)
    }

    /// How long one trial takes.
    pub(crate) fn trial_duration(
        &self,
        environment: Environment,
        cell: Cell,
        cpus: usize,
    ) -> Nanos {
        let phase = environment.phase(cell, self.phase, cpus);
        Nanos(phase.times(TENTHS_OF_PHASES).get() / 10)
    }
}

/// The paper's baseline.
pub const PAPERS_BASELINE: &str = "sleep0";
/// The strategy that the paper recommends.
pub const PAPERS_CHOICE: &str = "pause-yield";
/// A task of fine grain: as long as taking it from the queue.
pub const FINE: Nanos = Nanos(100);
/// A task of medium grain.
pub const MEDIUM: Nanos = Nanos::from_micros(1);
/// A task of coarse grain.
pub const COARSE: Nanos = Nanos::from_micros(100);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_presets_take_as_long_as_they_say() {
        let seconds = |options: &Options| options.duration(2).as_secs_f64();
        assert!(seconds(&Options::quick()) < 60.0, "{}", seconds(&Options::quick()));
        assert!(seconds(&Options::usual()) < 600.0, "{}", seconds(&Options::usual()));
        assert!(seconds(&Options::paper()) < 600.0, "{}", seconds(&Options::paper()));
        for options in [Options::quick(), Options::usual(), Options::paper()] {
            options.check().unwrap();
        }
        assert_eq!(Options::paper().strategies.len(), 7);
        assert!(seconds(&Options::paper_quick()) < 90.0);
    }

    #[test]
    fn baselines_are_always_measured() {
        let options = Options::usual().with_strategies(["spin", "std", "spin"]).unwrap();
        let names: Vec<_> = options.strategies.iter().map(|strategy| strategy.name).collect();
        assert_eq!(names, ["std", "parking_lot", "spin"]);
        let all = Options::usual().with_strategies(["all"]).unwrap();
        assert_eq!(all.strategies.len(), Strategy::all().len());
        assert!(Options::usual().with_strategies(["hope"]).is_err());
    }

    #[test]
    fn values_out_of_range_are_named() {
        let says = |options: Options| options.check().unwrap_err().to_string();
        let usual = Options::usual;
        assert_eq!(
            says(Options { threads: vec![4, 0], ..usual() }),
            "0 threads: must be 1 to 1024"
        );
        assert_eq!(
            says(Options { sections: vec![Nanos::from_millis(20)], ..usual() }),
            "work of 20.0 ms: must be at most 10.0 ms"
        );
        assert_eq!(says(Options { rounds: 0, ..usual() }), "0 rounds: must be 1 to 1000");
        assert_eq!(
            says(Options { phase: Nanos(5), ..usual() }),
            "phases of 5 ns: must be 1.00 ms to 60.0 s"
        );
        assert_eq!(says(Options { outsides: vec![], ..usual() }), "there is nothing to compare");
    }

    #[test]
    fn the_grid_has_every_combination_once() {
        let options = Options {
            threads: vec![2, 4, 2],
            sections: vec![Nanos(0), Nanos(10)],
            outsides: vec![Nanos(5)],
            ..Options::usual()
        };
        let cells: Vec<_> =
            options.cells().iter().map(|cell| (cell.threads, cell.section.get())).collect();
        assert_eq!(cells, [(2, 0), (4, 0), (2, 10), (4, 10)]);
    }
}
