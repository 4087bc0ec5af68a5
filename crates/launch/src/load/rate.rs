//! How fast the work goes at the highest speed, and work that is so many
//! steps of it.

use std::thread;

use unjank_host::sched::{AffinityGuard, CpuSet};
use unjank_host::{Error, Nanos, Result, Timestamp};

use crate::work::chain;

/// Steps of the work in a millisecond at the highest speed of any CPU.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Rate(u64);

/// How long each CPU works before its highest speed is taken as known: longer
/// than the slowest governor takes to notice.
const CALIBRATION: Nanos = Nanos::from_millis(500);
/// Steps between two looks at the clock: some ten microseconds.
const PIECE: u64 = 20_000;

impl Rate {
    /// So many steps in a millisecond.
    ///
    /// # Errors
    /// `Invalid` for none.
    pub fn per_millisecond(steps: u64) -> Result<Self> {
        if steps == 0 {
            return Err(Error::Invalid("a rate of no steps in a millisecond".to_owned()));
        }
        Ok(Self(steps))
    }

    /// Measured, on all CPUs that this process may use at the same time: the
    /// fastest piece of half a second of work on any of them.
    ///
    /// # Errors
    /// A thread that could not be started.
    pub fn calibrate() -> Result<Self> {
        let cpus = CpuSet::allowed()?;
        let fastest = thread::scope(|scope| {
            let threads: Vec<_> = cpus
                .iter()
                .map(|cpu| thread::Builder::new().spawn_scoped(scope, move || fastest_piece(cpu)))
                .collect::<Result<_, _>>()
                .map_err(|error| Error::syscall("clone", "a thread that calibrates", error))?;
            let pieces =
                threads.into_iter().map(|thread| thread.join().expect("the work does not panic"));
            Ok(pieces.min().unwrap_or(CALIBRATION))
        })?;
        Self::per_millisecond(PIECE * 1_000_000 / fastest.get().max(1))
    }

    /// Steps in a millisecond.
    pub fn get(self) -> u64 {
        self.0
    }

    /// How many steps take `length` at the highest speed.
    fn steps(self, length: Nanos) -> u64 {
        let steps = u128::from(self.0) * u128::from(length.get()) / 1_000_000;
        u64::try_from(steps).unwrap_or(u64::MAX)
    }

    /// Does the steps.
    pub(super) fn work_for(self, length: Nanos) {
        chain(self.steps(length));
    }
}

fn fastest_piece(cpu: usize) -> Nanos {
    // A CPU that has just gone offline is left out by working elsewhere.
    let _pinned = AffinityGuard::pin_to(cpu);
    let start = Timestamp::now();
    let (mut last, mut fastest) = (start, CALIBRATION);
    while last.since(start) < CALIBRATION {
        chain(PIECE);
        let now = Timestamp::now();
        fastest = fastest.min(now.since(last));
        last = now;
    }
    fastest
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_length_is_a_number_of_steps() {
        let rate = Rate::per_millisecond(300_000).unwrap();
        assert_eq!(rate.steps(Nanos::from_millis(2)), 600_000);
        assert_eq!(rate.steps(Nanos(500)), 150);
        assert_eq!(rate.steps(Nanos(u64::MAX)), 300_000 * (u64::MAX / 1_000_000) + 165_484);
        assert!(Rate::per_millisecond(0).is_err());
    }

    #[test]
    fn calibration_finds_a_rate() {
        let rate = Rate::calibrate().unwrap();
        assert!(rate.get() > 100, "{rate:?}");
    }
}
