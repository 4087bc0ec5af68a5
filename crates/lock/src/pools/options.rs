//! Options of `lock bench --pool`, and how long a run takes.

use unjank_host::{Error, Nanos, Result};
use unjank_measure::experiment::FEWEST_PAIRS;

use super::pool::PoolKind;

/// The longest gap: a trial has to contain several.
const LONGEST_GAP: Nanos = Nanos::from_millis(100);
/// The fewest pieces of work in a trial.
const FEWEST_PIECES: u64 = 10;
const MOST_ROUNDS: usize = 1_000;
const MOST_THREADS: usize = 1_024;

/// Options of `lock bench --pool`.
#[derive(Debug, Clone)]
pub struct Options {
    /// The pools; the first is compared with each of the others.
    pub pools: Vec<PoolKind>,
    /// The number of threads of each pool.
    pub threads: usize,
    /// Times from one piece of work to the next; 0 gives the next when the last has
    /// begun.
    pub gaps: Vec<Nanos>,
    /// Trials of each pool with each gap.
    pub rounds: usize,
    /// The length of a trial.
    pub trial: Nanos,
}

impl Options {
    /// The defaults for this number of CPUs: about a minute.
    pub fn usual(cpus: usize) -> Self {
        Self {
            pools: PoolKind::ALL.to_vec(),
            threads: cpus,
            gaps: vec![
                Nanos::ZERO,
                Nanos::from_micros(50),
                Nanos::from_millis(1),
                Nanos::from_millis(10),
            ],
            rounds: FEWEST_PAIRS,
            trial: Nanos::from_millis(500),
        }
    }

    /// Ten seconds: too few rounds for a verdict.
    pub fn quick(cpus: usize) -> Self {
        Self { rounds: 2, trial: Nanos::from_millis(250), ..Self::usual(cpus) }
    }

    /// How long a run takes.
    pub fn duration(&self) -> Nanos {
        let trials = self.pools.len() * self.gaps.len() * self.rounds;
        self.trial.times(trials as u64)
    }

    /// Checks the ranges.
    ///
    /// # Errors
    /// `Invalid` names the value that is out of range.
    pub fn check(&self) -> Result<()> {
        let invalid = |what: String| Err(Error::Invalid(what));
        if self.pools.is_empty() || self.gaps.is_empty() {
            return invalid("there are no pools or no gaps to measure".to_owned());
        }
        if self.threads == 0 || self.threads > MOST_THREADS {
            return invalid(format!("{} threads: must be 1 to {MOST_THREADS}", self.threads));
        }
        if self.rounds == 0 || self.rounds > MOST_ROUNDS {
            return invalid(format!("{} rounds: must be 1 to {MOST_ROUNDS}", self.rounds));
        }
        for gap in &self.gaps {
            if *gap > LONGEST_GAP {
                return invalid(format!("a gap of {gap}: must be at most {LONGEST_GAP}"));
            }
            if gap.times(FEWEST_PIECES) > self.trial {
                return invalid(format!(
                    "a trial of {}: must be at least {FEWEST_PIECES} gaps of {gap}",
                    self.trial
                ));
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_out_of_range_are_errors() {
        let usual = Options::usual(2);
        assert!(usual.check().is_ok() && Options::quick(1).check().is_ok());
        assert_eq!(usual.duration(), Nanos::from_millis(48_000));
        let wrong = [
            Options { gaps: vec![], ..usual.clone() },
            Options { threads: 0, ..usual.clone() },
            Options { rounds: 0, ..usual.clone() },
            Options { gaps: vec![Nanos::from_millis(101)], ..usual.clone() },
            Options { trial: Nanos::from_millis(99), ..usual.clone() },
        ];
        for options in wrong {
            assert!(options.check().is_err(), "{options:?}");
        }
    }
}
