//! The speed of the work at the highest frequency, and work of a given number of
//! steps.

use std::thread;

use unjank_host::sched::{AffinityGuard, CpuSet};
use unjank_host::{Error, Nanos, Result, Timestamp};

use crate::work::chain;

/// Steps of the work per millisecond at the highest speed of any CPU.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Rate(u64);

/// How long each CPU works to find its highest speed: longer than the slowest
/// governor takes to raise the clock.
const CALIBRATION: Nanos = Nanos::from_millis(500);
/// Steps between two clock reads: some ten microseconds.
const PIECE: u64 = 20_000;

impl Rate {
    /// A rate of `steps` per millisecond.
    ///
    /// # Errors
    /// `Invalid` for zero.
    pub fn per_millisecond(steps: u64) -> Result<Self> {
        if steps == 0 {
            return Err(Error::Invalid("the rate is 0 steps per millisecond".to_owned()));
        }
        Ok(Self(steps))
    }

    /// Measures all CPUs that this process may use at the same time: the rate of
    /// the fastest piece in half a second of work on any of them.
    ///
    /// # Errors
    /// A thread cannot be started.
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

    /// Steps per millisecond.
    pub fn get(self) -> u64 {
        self.0
    }

    /// The steps of `length` at the highest speed.
    fn steps(self, length: Nanos) -> u64 {
        let steps = u128::from(self.0) * u128::from(length.get()) / 1_000_000;
        u64::try_from(steps).unwrap_or(u64::MAX)
    }

    /// Works for `length` at the highest speed.
    pub(super) fn work_for(self, length: Nanos) {
        chain(self.steps(length));
    }
}

fn fastest_piece(cpu: usize) -> Nanos {
    // If the CPU has just gone offline, this works on another one.
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
