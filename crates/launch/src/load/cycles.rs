//! Work measured in virtual clock cycles: the frequency that the governor set,
//! integrated over the CPU time of the thread.

use unjank_host::clock::thread_cpu_time;
use unjank_host::frequency::Frequencies;
use unjank_host::sched::current_cpu;
use unjank_host::{Hertz, Nanos, Result, Timestamp};

use crate::work::chain;

/// Work between two readings of the frequency: a change is noticed within one
/// step. A reading takes some ten microseconds in the virtual phone.
pub const STEP: Nanos = Nanos::from_micros(500);
/// Steps of the work between two clock reads.
const PIECE: u64 = 2_000;

/// Works until the thread has had the cycles of `length` at the highest frequency.
pub(super) fn work_for(length: Nanos, frequencies: &Frequencies) -> Result<()> {
    let mut account = Account::new(length, frequencies.highest());
    let mut spent = thread_cpu_time();
    let mut frequency = frequencies.now(current_cpu())?;
    while let Some(step) = account.next_step(frequency) {
        let end = Timestamp::now() + step;
        while Timestamp::now() < end {
            chain(PIECE);
        }
        let (now, then) = (frequencies.now(current_cpu())?, frequency);
        let total = thread_cpu_time();
        account.spend(total - spent, then, now);
        (spent, frequency) = (total, now);
    }
    Ok(())
}

/// Cycles left to do. Pure: no clock, no machine.
#[derive(Debug)]
struct Account {
    /// Remaining work in nanoseconds × hertz.
    left: u128,
}

impl Account {
    fn new(length: Nanos, highest: Hertz) -> Self {
        Self { left: u128::from(length.get()) * u128::from(highest.0) }
    }

    /// Time to work before the next reading: a step, or what is left at this
    /// frequency; `None` at the end.
    fn next_step(&self, frequency: Hertz) -> Option<Nanos> {
        let left = self.left / u128::from(frequency.0.max(1));
        let left = Nanos(u64::try_from(left).unwrap_or(u64::MAX));
        (left > Nanos::ZERO).then(|| left.min(STEP))
    }

    /// Subtracts the cycles of `time`. The moment of a frequency change within it
    /// is unknown: the mean of both frequencies is right on average.
    fn spend(&mut self, time: Nanos, before: Hertz, after: Hertz) {
        let middle = u128::midpoint(u128::from(before.0), u128::from(after.0));
        self.left = self.left.saturating_sub(u128::from(time.get()) * middle);
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const HIGHEST: Hertz = Hertz::from_khz(1_200_000);

    #[test]
    fn a_slow_clock_takes_longer() {
        // 60 ms at full speed: 100 ms at a sixth of it do 16.7 ms of them, and
        // 43.3 ms are left.
        let mut account = Account::new(Nanos::from_millis(60), HIGHEST);
        let slow = Hertz::from_khz(200_000);
        account.spend(Nanos::from_millis(100), slow, slow);
        let mut time = Nanos::ZERO;
        while let Some(step) = account.next_step(HIGHEST) {
            account.spend(step, HIGHEST, HIGHEST);
            time = time + step;
        }
        let expected = Nanos::from_micros(43_333);
        assert!(time >= expected && time < expected + STEP, "{time}");
    }

    #[test]
    fn a_change_within_a_step_counts_for_half_of_it() {
        let mut account = Account::new(Nanos::from_millis(1), HIGHEST);
        account.spend(Nanos::from_millis(1), Hertz::from_khz(600_000), HIGHEST);
        assert_eq!(account.next_step(HIGHEST), Some(Nanos::from_micros(250)));
    }

    #[test]
    fn no_work_is_done_at_once() {
        assert_eq!(Account::new(Nanos::ZERO, HIGHEST).next_step(HIGHEST), None);
    }

    proptest! {
        #[test]
        fn it_ends_whatever_the_clock_does(
            length in 0_u64..1_000_000_000,
            clocks in prop::collection::vec(1_u64..2_000_000_000, 1..50),
        ) {
            let mut account = Account::new(Nanos(length), HIGHEST);
            for clock in clocks.iter().cycle().take(100_000).copied().map(Hertz) {
                let Some(step) = account.next_step(clock) else { return Ok(()) };
                prop_assert!(step <= STEP);
                account.spend(step, clock, clock);
            }
        }
    }
}
