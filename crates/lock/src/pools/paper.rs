//! The idle workers of Olivas and Chynoweth: a pool whose queue is nearly always empty.
//!
//! *Benefitting Power and Performance Sleep Loops* (Intel) names two situations in which
//! pools waste power: workers that wait for work, and workers that wait for the queue's lock
//! ([`crate::bench::paper`]). It has figures of the second one only; of the first it says
//! what each loop does.

use unjank_host::Nanos;
use unjank_measure::claim::{Claim, Means};
use unjank_measure::{Answer, Unit};

use super::options::Options;
use super::pool::PoolKind;
use super::results::{Cell, Results};
use super::sleep_loops::SleepLoop;

/// The workers, as in the paper's table 4.
const WORKERS: usize = 8;
/// Work comes this seldom.
const GAP: Nanos = Nanos::from_millis(10);
/// The share of the CPUs from which on workers use all of them.
const ALL: f64 = 0.9;
/// Less CPU time than this share of another's is less.
const LESS: f64 = 0.95;
const SOURCE: &str = "Olivas & Chynoweth, idle workers";

/// The four loops, with work every 10 ms; the last one makes `pauses` before it yields.
pub fn options(pauses: u32, rounds: usize, trial: Nanos) -> Options {
    Options {
        pools: SleepLoop::all(pauses).map(PoolKind::SleepLoop).to_vec(),
        threads: WORKERS,
        gaps: vec![GAP],
        rounds,
        trial,
    }
}

/// The claims beside what this number of CPUs measured by `means`.
pub fn claims(results: &Results, cpus: usize, means: Means) -> Vec<Claim> {
    let place = |name: &str| results.pools.iter().position(|pool| pool.name() == name);
    let cell = results.cells.first();
    let [busy, sleep0, sleep1, pauses] = ["busy", "sleep0", "sleep1", "pause-yield"].map(place);
    vec![
        all_cpus(cell.zip(busy), cpus.min(WORKERS), means),
        later(cell.zip(sleep1.zip(busy)), means),
        thrifty(cell.zip(pauses.zip(sleep0)), means),
    ]
}

const NOT_MEASURED: &str = "it was not measured";

fn all_cpus(measured: Option<(&Cell, usize)>, cpus: usize, means: Means) -> Claim {
    let what = format!("share of the CPUs that {WORKERS} workers use, busy wait");
    let claim = Claim::new(SOURCE, what, "all");
    let used = measured.and_then(|(cell, busy)| Some((cell.cpus(busy)?, cell.rounds())));
    let Some(((used, interval), n)) = used else { return claim.untold(NOT_MEASURED) };
    let of_all = |used: f64| used / cpus.max(1) as f64;
    claim
        .with(of_all(used), Unit::Ratio, interval.map(|ends| ends.map(of_all)), n)
        .by(means)
        .judged_above(ALL, "they leave some of them")
}

fn later(measured: Option<(&Cell, (usize, usize))>, means: Means) -> Claim {
    let claim = Claim::new(SOURCE, "until work begins, Sleep(1) against busy wait", "later");
    let found = measured.and_then(|(cell, (sleep1, busy))| cell.later(sleep1, busy));
    let Some((value, interval, n)) = found else { return claim.untold(NOT_MEASURED) };
    claim.with(value, Unit::Times, interval, n).by(means).judged_above(1.0, "it begins sooner")
}

fn thrifty(measured: Option<(&Cell, (usize, usize))>, means: Means) -> Claim {
    let claim =
        Claim::new(SOURCE, "CPU time, pauses and Sleep(0) against Sleep(0) alone", "less power");
    if let Some(power) =
        measured.and_then(|(cell, (pauses, sleep0))| cell.more_power(pauses, sleep0))
    {
        let (watts, interval, n) = power;
        return Claim::new(
            SOURCE,
            "power, pauses and Sleep(0) against Sleep(0) alone",
            "less power",
        )
        .with(watts, Unit::Watts, interval, n)
        .by(means)
        .judged_below(0.0, "it takes more");
    }
    let found = measured.and_then(|(cell, (pauses, sleep0))| cell.busier(pauses, sleep0));
    let Some((value, interval, n)) = found else { return claim.untold(NOT_MEASURED) };
    let judged = claim
        .with(value, Unit::Times, interval, n)
        .by(means)
        .judged_below(LESS, "both keep the CPUs busy");
    match judged.answer {
        Answer::Yes => judged,
        _ => judged.untold(
            "both loops keep the CPUs busy, because sched_yield returns at once if nothing else \
             waits; how much power pauses save needs a meter",
        ),
    }
}

#[cfg(test)]
mod tests {
    use unjank_measure::Silent;

    use super::*;
    use crate::energy::TrialMeter;

    #[test]
    fn workers_that_never_sleep_take_the_cpus_and_claims_need_rounds() {
        let options = options(100, 1, Nanos::from_millis(100));
        let (results, _) =
            super::super::run(&options, &TrialMeter::none("a test"), 1, &Silent).unwrap();
        let claims = claims(&results, 1, Means::Measured);
        assert!(claims.iter().all(|claim| claim.answer == Answer::CannotTell), "{claims:?}");
        // On a busy machine, a loop may get no work in its only trial.
        assert!(claims.iter().all(|claim| claim.n <= 1), "{claims:?}");
        let cell = &results.cells[0];
        let used = |pool: usize| cell.cpus(pool).unwrap().0;
        assert!(used(0) > used(2), "busy workers use more than sleeping ones");
    }
}
