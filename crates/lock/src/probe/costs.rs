//! Measures the cost of single operations, in batches.

use std::hint;
use std::sync::Mutex;
use std::sync::atomic::AtomicU32;
use std::thread;

use unjank_backoff::calibrate::{self, Costs};
use unjank_host::futex::{Scope, wake};
use unjank_host::{Nanos, Timestamp};
use unjank_measure::stats::order;
use unjank_measure::{Fact, Findings, Unit};

/// Batches per operation; the interval is that of their median.
const BATCHES: usize = 51;
/// No batch begins after this time: a yield takes milliseconds beside programs
/// that compute.
const LONG_ENOUGH: Nanos = Nanos::from_millis(50);

/// Iterations of the standard library's mutex before it parks: `spin_until` in
/// `library/std/src/sys/sync/mutex/futex.rs`.
const STD_SPINS: f64 = 100.0;

/// Calibrations of unjank-backoff, of about two milliseconds each; the interval
/// is that of their median.
const CALIBRATIONS: usize = 9;

/// Measures each operation and adds a fact for it.
pub(crate) fn note(findings: &mut Findings) {
    let pause = cost(1_000, hint::spin_loop);
    findings.facts.push(fact("lock/pause", &pause));
    findings.facts.push(fact("lock/yield", &cost(50, thread::yield_now)));
    let mutex = Mutex::new(0_u64);
    let lock = || {
        if let Ok(mut count) = hint::black_box(&mutex).lock() {
            *count += 1;
        }
    };
    findings.facts.push(fact("lock/uncontended", &cost(1_000, lock)));
    let word = AtomicU32::new(0);
    findings.facts.push(fact("lock/wake_nobody", &cost(200, || wake(&word, 1, Scope::Process))));
    let budget = Fact::new("lock/std_spin_budget", pause.median * STD_SPINS, Unit::Nanoseconds);
    findings.facts.push(budget);
    let in_time = until(LONG_ENOUGH);
    let costs = (0..CALIBRATIONS).take_while(in_time).map(|_| calibrate::measure());
    let costs: Vec<Costs> = costs.collect();
    findings.facts.push(calibrated(&costs));
}

/// How long unjank-backoff spins before it parks, at most, in a program that
/// calibrates: the median of these calibrations within the library's bounds.
fn calibrated(costs: &[Costs]) -> Fact {
    let mut parks: Vec<f64> =
        costs.iter().map(|costs| costs.believed().park.as_nanos() as f64).collect();
    let (median, interval) = order::median(&mut parks).expect("there is the first of them");
    let fact = Fact::new("lock/backoff_spin_budget", median, Unit::Nanoseconds);
    match interval {
        Some(interval) => fact.with_interval(interval, costs.len() as u64),
        None => fact,
    }
}

/// Nanoseconds per operation.
struct Cost {
    median: f64,
    interval: Option<[f64; 2]>,
    batches: usize,
}

/// True for the first iteration, and for all that begin within `time`.
fn until(time: Nanos) -> impl FnMut(&usize) -> bool {
    let end = Timestamp::now() + time;
    move |number| *number == 0 || Timestamp::now() < end
}

/// Times up to [`BATCHES`] batches of `turns` operations. The clock is read once per
/// batch, which adds its cost divided by `turns`.
fn cost(turns: u32, mut operation: impl FnMut()) -> Cost {
    for _ in 0..turns {
        operation();
    }
    let mut batches: Vec<f64> = (0..BATCHES)
        .take_while(until(LONG_ENOUGH))
        .map(|_| {
            let start = Timestamp::now();
            for _ in 0..turns {
                operation();
            }
            Timestamp::now().since(start).get() as f64 / f64::from(turns)
        })
        .collect();
    let (median, interval) = order::median(&mut batches).expect("there is the first of them");
    Cost { median, interval, batches: batches.len() }
}

fn fact(name: &str, cost: &Cost) -> Fact {
    let fact = Fact::new(name, cost.median, Unit::Nanoseconds);
    match cost.interval {
        Some(interval) => fact.with_interval(interval, cost.batches as u64),
        None => fact,
    }
}

#[cfg(test)]
mod tests {
    use unjank_backoff::ticks::Ticks;

    use super::*;

    #[test]
    fn the_budget_is_the_one_that_the_library_uses() {
        // From now on the rate of ticks does not change.
        let _costs = calibrate::measure();
        let measured = |nanos| {
            let park = Ticks::from_nanos(nanos);
            calibrated(&[Costs { park, pause: Ticks(1), yield_now: Ticks(1) }; CALIBRATIONS])
        };
        let budget = measured(1_470_000);
        assert!((budget.value - 50_000.0).abs() < 100.0, "{budget:?}");
        assert!(budget.interval.is_some_and(|[low, high]| low <= high && high < 50_100.0));
        assert!((measured(20_000).value - 20_000.0).abs() < 100.0);
    }

    #[test]
    fn every_operation_costs_something() {
        let mut findings = Findings::default();
        note(&mut findings);
        assert_eq!(findings.facts.len(), 6);
        for fact in &findings.facts {
            assert!(fact.value > 0.0, "{fact:?}");
        }
        assert!(findings.fact_named("lock/pause").unwrap().interval.is_some());
    }
}
