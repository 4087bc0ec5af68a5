//! `unjank lock doctor`: what the threads of a running program do instead of
//! waiting.
//!
//! | module | subject |
//! |---|---|
//! | `watch` | looks at all threads, windows of a trace, samples |
//! | `processes` | one process or a tree of them: runtimes, titles |
//! | `roster` | the threads, and their counters in procfs |
//! | `tracing`, `tally` | system calls in windows, and what they add up to |
//! | `futexes` | which futex a call is about, across processes, and its name |
//! | `turns` | threads that wake each other: pure |
//! | `glancing` | in which call a thread is held up, where nothing is traced |
//! | `sampling`, `lock_functions` | where in their program the busiest threads are |
//! | `seen` | what a thread is judged by |
//! | [`diagnose()`], `diagnosis` | what is wrong with it, and what to do: pure |
//! | [`surroundings()`] | quotas, stolen time, too few CPUs: pure |
//! | `patient` | a thread, what was seen of it, and what is wrong |
//! | `verdict` | whether the program wastes its time, or why nobody can tell: pure |
//! | `report`, `tables`, `words` | findings, tables, and numbers in words |

mod diagnose;
mod diagnosis;
mod futexes;
mod glancing;
mod lock_functions;
mod options;
mod patient;
mod processes;
mod report;
mod roster;
mod sampling;
mod seen;
mod surroundings;
mod tables;
mod tally;
mod tracing;
mod turns;
mod verdict;
mod watch;
mod words;

pub use diagnose::diagnose;
pub use diagnosis::{Certainty, Diagnosis, Kind};
pub use options::Options;
pub use patient::Patient;
pub use seen::{
    Around, Calls, Code, Futex, Glances, Naps, Owner, Prices, Seen, Title, Turns, Waits,
};
pub use surroundings::{Whole, surroundings};

use std::collections::BTreeMap;

use unjank_host::sched::ThreadId;
use unjank_host::{Nanos, Result, Root};
use unjank_measure::{Findings, Monitor};

use crate::probe::prices;
use seen::share;
use turns::{Sleeper, take_turns};
use watch::Watched;

/// A thread that uses less of a CPU is idle.
const IDLE: f64 = 0.01;
/// A thread that is ready for a larger share of the time, and does not run,
/// is hungry.
const HUNGRY: f64 = 0.2;

/// Everything about one process, or the tree of those that it has started.
#[derive(Debug)]
pub struct Examined {
    /// For a run record.
    pub findings: Findings,
    /// All threads that were seen, those that waste most first.
    pub patients: Vec<Patient>,
}

/// Watches a process and says what each of its threads does. `seed` says when
/// windows of the trace open.
///
/// # Errors
/// `Invalid`: no such process, or too short a watch. That something may not be
/// looked at is no error: it stands in the findings.
pub fn run(options: &Options, root: &Root, seed: u64, monitor: &dyn Monitor) -> Result<Examined> {
    options.check()?;
    // Nobody measures what waiting costs for a process that is not there.
    unjank_host::threads::ids(root, options.process)?;
    let mut prices = Prices {
        traced: Nanos::ZERO,
        yielding: prices::yielding(),
        wake_nobody: prices::wake_nobody(),
        park: prices::park(monitor)?,
    };
    let mut findings = Findings::default();
    let watched = watch::watch(options, root, seed, monitor, &mut findings)?;
    prices.traced = watched.traced_yield.unwrap_or(prices.yielding);
    let patients = examine(&watched, &prices);
    let whole = whole(&watched, &patients);
    report::report(options, root, watched, &prices, &patients, &whole, &mut findings);
    Ok(Examined { findings, patients })
}

/// Judges each thread beside the others.
fn examine(watched: &Watched, prices: &Prices) -> Vec<Patient> {
    let mut all: Vec<Seen> = watched
        .roster
        .seen()
        .map(|(seen, traced)| Seen {
            calls: watched
                .tally
                .as_ref()
                .map(|tally| named(tally.calls_of(seen.thread, traced), watched)),
            code: watched.code.get(&seen.thread).cloned(),
            glances: watched.glancing.of(seen.thread),
            ..seen
        })
        .collect();
    let turns = taken_turns(watched, &all);
    for seen in &mut all {
        seen.turns = turns.get(&seen.thread).copied();
    }
    let is_hungry = |it: &Seen| it.ready_share().is_some_and(|share| share >= HUNGRY);
    let is_idle = |it: &Seen| it.cpu_share() < IDLE && !is_hungry(it);
    let (hungry, idle) = (
        all.iter().filter(|it| is_hungry(it)).count(),
        all.iter().filter(|it| is_idle(it)).count(),
    );
    let mut bound = std::collections::HashMap::new();
    for seen in all.iter().filter(|seen| seen.cpus.len() == 1) {
        *bound.entry(seen.cpus.to_string()).or_insert(0_usize) += 1;
    }
    let mut patients: Vec<Patient> = all
        .drain(..)
        .map(|seen| {
            let same_cpu = bound.get(&seen.cpus.to_string()).map_or(0, |count| count - 1);
            let around = Around {
                hungry: hungry - usize::from(is_hungry(&seen)),
                idle: idle - usize::from(is_idle(&seen)),
                same_cpu,
            };
            Patient { diagnoses: diagnose(&seen, &around, prices), seen }
        })
        .collect();
    let rank = |it: &Patient| {
        let kind = it.worst().kind;
        (kind != Kind::Realtime, !kind.is_bad())
    };
    patients.sort_by(|one, other| {
        rank(one)
            .cmp(&rank(other))
            .then(other.wasted().total_cmp(&one.wasted()))
            .then(other.seen.cpu.cmp(&one.seen.cpu))
            .then(one.seen.thread.cmp(&other.seen.thread))
    });
    patients
}

/// With the names of futexes.
fn named(mut calls: Calls, watched: &Watched) -> Calls {
    for futex in [&mut calls.busiest, &mut calls.lock].into_iter().flatten() {
        futex.name = watched.names.get(&futex.id).cloned();
    }
    calls
}

/// Which threads wake each other.
fn taken_turns(watched: &Watched, all: &[Seen]) -> BTreeMap<ThreadId, Turns> {
    let Some(tally) = &watched.tally else { return BTreeMap::new() };
    let sleeper = |seen: &Seen| {
        let by = tally.wakers(seen.thread);
        let woken = by.values().sum();
        let waiting = seen.waiting_share();
        let fights_for_monitors = seen.contended_monitors().is_some();
        (seen.thread, Sleeper { waiting, woken, by, fights_for_monitors })
    };
    take_turns(&all.iter().map(sleeper).collect(), tally.traced.as_secs_f64())
}

fn whole(watched: &Watched, patients: &[Patient]) -> Whole {
    let wanted = patients.iter().map(|it| it.seen.cpu + it.seen.ready.unwrap_or_default());
    let cpus = patients.iter().flat_map(|it| it.seen.cpus.iter());
    Whole {
        throttled: watched.throttled,
        stolen: watched.stolen,
        runnable: share(wanted.fold(Nanos::ZERO, |sum, time| sum + time), watched.length),
        cpus: cpus.collect::<std::collections::BTreeSet<_>>().len(),
        wasted: patients.iter().map(Patient::wasted).sum(),
    }
}
