//! What to compare, and how long that takes.

use unjank_host::{Error, Nanos, Result};
use unjank_measure::experiment::FEWEST_PAIRS;

use super::peers::Kind;

/// The longest gap: a visit has to hold some.
const LONGEST_GAP: Nanos = Nanos::from_millis(100);
/// The fewest pieces of work in a visit.
const FEWEST_PIECES: u64 = 10;
const MOST_ROUNDS: usize = 1_000;
const MOST_THREADS: usize = 1_024;

/// What to compare.
#[derive(Debug, Clone)]
pub struct Options {
    /// The pools; the first is compared with each of the others.
    pub pools: Vec<Kind>,
    /// Threads of each pool.
    pub threads: usize,
    /// From one piece of work to the next; 0 is as soon as the last has begun.
    pub gaps: Vec<Nanos>,
    /// How often each pool is visited with each gap.
    pub rounds: usize,
    /// How long a visit takes.
    pub visit: Nanos,
}

impl Options {
    /// The defaults, for so many CPUs: about a minute.
    pub fn usual(cpus: usize) -> Self {
        Self {
            pools: Kind::ALL.to_vec(),
            threads: cpus,
            gaps: vec![
                Nanos::ZERO,
                Nanos::from_micros(50),
                Nanos::from_millis(1),
                Nanos::from_millis(10),
            ],
            rounds: FEWEST_PAIRS,
            visit: Nanos::from_millis(500),
        }
    }

    /// Ten seconds, which decide nothing.
    pub fn quick(cpus: usize) -> Self {
        Self { rounds: 2, visit: Nanos::from_millis(250), ..Self::usual(cpus) }
    }

    /// How long all of it takes.
    pub fn duration(&self) -> Nanos {
        let visits = self.pools.len() * self.gaps.len() * self.rounds;
        self.visit.times(visits as u64)
    }

    /// Whether this can work.
    ///
    /// # Errors
    /// `Invalid` names what cannot.
    pub fn check(&self) -> Result<()> {
        let invalid = |what: String| Err(Error::Invalid(what));
        if self.pools.is_empty() || self.gaps.is_empty() {
            return invalid("there is no pool or no gap to measure".to_owned());
        }
        if self.threads == 0 || self.threads > MOST_THREADS {
            return invalid(format!("a pool has 1 to {MOST_THREADS} threads"));
        }
        if self.rounds == 0 || self.rounds > MOST_ROUNDS {
            return invalid(format!("there are 1 to {MOST_ROUNDS} rounds"));
        }
        for gap in &self.gaps {
            if *gap > LONGEST_GAP {
                return invalid(format!("{gap} is longer than the longest gap, {LONGEST_GAP}"));
            }
            if gap.times(FEWEST_PIECES) > self.visit {
                return invalid(format!(
                    "a visit of {} holds fewer than {FEWEST_PIECES} gaps of {gap}",
                    self.visit
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
    fn what_cannot_work_is_named() {
        let usual = Options::usual(2);
        assert!(usual.check().is_ok() && Options::quick(1).check().is_ok());
        assert_eq!(usual.duration(), Nanos::from_millis(48_000));
        let wrong = [
            Options { gaps: vec![], ..usual.clone() },
            Options { threads: 0, ..usual.clone() },
            Options { rounds: 0, ..usual.clone() },
            Options { gaps: vec![Nanos::from_millis(101)], ..usual.clone() },
            Options { visit: Nanos::from_millis(99), ..usual.clone() },
        ];
        for options in wrong {
            assert!(options.check().is_err(), "{options:?}");
        }
    }
}
