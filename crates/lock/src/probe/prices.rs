//! Measures the costs of waiting in a few milliseconds, for `lock doctor`.

use std::sync::atomic::AtomicU32;
use std::thread;

use unjank_host::clock::thread_cpu_time;
use unjank_host::futex::{Scope, wake};
use unjank_host::sched::CpuSet;
use unjank_host::{Nanos, Result, Timestamp};
use unjank_measure::Monitor;

use super::handoff::{Handoff, Placement, Wait, measure};

/// Operations of a batch, number of batches, and the time after which no batch
/// begins: a yield takes milliseconds beside programs that compute.
const TURNS: u64 = 50;
const BATCHES: usize = 80;
const LONG_ENOUGH: Nanos = Nanos::from_millis(50);
/// How long hand-offs are measured.
const HAND_OFFS: Nanos = Nanos::from_millis(20);
/// No park costs more, even from a deep idle state: beside programs that compute, a woken thread
/// waits for its turn for milliseconds, which says nothing about the cost of a wake-up.
const DEAREST_PARK: Nanos = Nanos::from_micros(500);

/// CPU time of one `sched_yield`.
pub(crate) fn yielding() -> Nanos {
    cpu_time_of(thread::yield_now)
}

/// CPU time of one futex wake without a sleeper.
pub(crate) fn wake_nobody() -> Nanos {
    let word = AtomicU32::new(0);
    cpu_time_of(|| wake(&word, 1, Scope::Process))
}

/// CPU time of one operation, from the fastest batch.
fn cpu_time_of(operation: impl Fn()) -> Nanos {
    let batch = |_| {
        let before = thread_cpu_time();
        for _ in 0..TURNS {
            operation();
        }
        thread_cpu_time() - before
    };
    let end = Timestamp::now() + LONG_ENOUGH;
    let in_time = |batches: &usize| *batches == 0 || Timestamp::now() < end;
    let least = (0..BATCHES).take_while(in_time).map(batch).min().unwrap_or_default();
    Nanos(least.get().div_ceil(TURNS))
}

/// Median time from the wake-up call until a parked thread runs, on another CPU if
/// there is one; at most [`DEAREST_PARK`].
pub(crate) fn park(monitor: &dyn Monitor) -> Result<Nanos> {
    let allowed = CpuSet::allowed()?;
    let mut cpus = allowed.iter();
    let one = cpus.next().unwrap_or(0);
    let (placement, cpus) = match cpus.next() {
        Some(two) => (Placement::TwoCpus, (one, two)),
        None => (Placement::OneCpu, (one, one)),
    };
    let measured = measure(Handoff { wait: Wait::Park, placement, cpus }, HAND_OFFS, monitor)?;
    Ok(price_of_park(Nanos(measured.wake_ups.quantile(0.5))))
}

fn price_of_park(median: Nanos) -> Nanos {
    median.min(DEAREST_PARK)
}

#[cfg(test)]
mod tests {
    use unjank_measure::Silent;

    use super::*;

    #[test]
    fn each_way_of_waiting_has_a_price() {
        for price in [yielding(), wake_nobody(), park(&Silent).unwrap()] {
            assert!(price > Nanos::ZERO);
        }
    }

    #[test]
    fn a_busy_machine_makes_no_park_dear() {
        assert_eq!(price_of_park(Nanos::from_micros(20)), Nanos::from_micros(20));
        assert_eq!(price_of_park(Nanos::from_millis(12)), Nanos::from_micros(500));
    }
}
