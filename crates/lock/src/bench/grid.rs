//! The grid: number of threads, length of the section, time outside, and
//! environment.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};
use unjank_host::{Error, Nanos};

/// Threads per CPU from which a cell takes longer: each thread is to run a few
/// times, and a time slice is some milliseconds.
const THREADS_PER_CPU: u64 = 5;

/// Under a quota a cell takes this many times as long, to span several periods.
const LONGER_UNDER_QUOTA: u64 = 5;

/// One combination of the grid's variables.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Cell {
    /// Number of threads that take the lock.
    pub threads: usize,
    /// Time for which each holds it.
    pub section: Nanos,
    /// Time for which each works without it.
    pub outside: Nanos,
}

impl fmt::Display for Cell {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let threads = if self.threads == 1 { "thread" } else { "threads" };
        write!(f, "{} {threads}, {} held, {} outside", self.threads, self.section, self.outside)
    }
}

/// What else runs while a cell is measured.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Environment {
    /// Nothing else of unjank's.
    Idle,
    /// A busy thread for each CPU, in another process.
    Load,
    /// A control group with half of the CPUs' time.
    Quota,
    /// Every second thread is nicer by 10.
    Priorities,
    /// All threads share one CPU.
    Pinned,
}

impl Environment {
    /// All environments.
    pub const ALL: [Self; 5] =
        [Self::Idle, Self::Load, Self::Quota, Self::Priorities, Self::Pinned];

    /// The name, as typed.
    pub fn name(self) -> &'static str {
        match self {
            Self::Idle => "idle",
            Self::Load => "load",
            Self::Quota => "quota",
            Self::Priorities => "priorities",
            Self::Pinned => "pinned",
        }
    }

    /// How many of `cpus` the threads may use.
    pub(crate) fn cpus(self, cpus: usize) -> usize {
        if self == Self::Pinned { 1 } else { cpus }
    }

    /// The length of a phase of this cell; cells with few threads have `base`.
    pub(crate) fn phase(self, cell: Cell, base: Nanos, cpus: usize) -> Nanos {
        let carried = THREADS_PER_CPU * self.cpus(cpus).max(1) as u64;
        let phase = base.max(Nanos(base.times(cell.threads as u64).get() / carried));
        if self == Self::Quota { phase.times(LONGER_UNDER_QUOTA) } else { phase }
    }
}

impl fmt::Display for Environment {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl FromStr for Environment {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self, Error> {
        Self::ALL.into_iter().find(|one| one.name() == text).ok_or_else(|| {
            let names = Self::ALL.map(Self::name).join(", ");
            Error::Invalid(format!("unknown environment {text:?}; expected one of {names}"))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const BASE: Nanos = Nanos::from_millis(100);

    fn cell(threads: usize) -> Cell {
        Cell { threads, section: Nanos::ZERO, outside: Nanos::from_micros(1) }
    }

    #[test]
    fn a_cell_grows_with_the_threads_of_each_cpu() {
        let of = |environment: Environment, threads| environment.phase(cell(threads), BASE, 2);
        assert_eq!(of(Environment::Idle, 4), BASE);
        assert_eq!(of(Environment::Idle, 32), Nanos::from_millis(320));
        assert_eq!(of(Environment::Pinned, 32), Nanos::from_millis(640));
        assert_eq!(of(Environment::Quota, 4), Nanos::from_millis(500));
    }

    #[test]
    fn environments_are_read_by_their_names() {
        for environment in Environment::ALL {
            assert_eq!(environment.to_string().parse::<Environment>().unwrap(), environment);
        }
        let error = "calm".parse::<Environment>().unwrap_err().to_string();
        assert!(error.ends_with("one of idle, load, quota, priorities, pinned"), "{error}");
    }

    #[test]
    fn a_cell_says_what_it_is() {
        assert_eq!(cell(1).to_string(), "1 thread, 0 ns held, 1.00 µs outside");
        assert_eq!(cell(8).to_string(), "8 threads, 0 ns held, 1.00 µs outside");
    }
}
