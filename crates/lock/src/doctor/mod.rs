//! `unjank lock doctor`: finds the threads of a running program that waste time
//! in waiting.
//!
//! | module | subject |
//! |---|---|
//! | `watch` | reads all threads, opens trace windows, samples |
//! | `processes` | one process or a process tree: runtimes, titles |
//! | `roster` | the threads and their counters in procfs |
//! | `tracing`, `tally` | system calls in windows, and their counts |
//! | `futexes` | identifies futexes across processes, and names them |
//! | `throughout` | threads that slept through the watch |
//! | `turns` | threads that wake each other: pure |
//! | `glancing` | blocking calls at single moments, where nothing is traced |
//! | `sampling`, `lock_functions` | where in their program the busiest threads are |
//! | `observed` | the observations by which a thread is judged |
//! | [`diagnose()`], `diagnosis` | problems and remedies: pure |
//! | [`surroundings()`] | quotas, stolen time, too few CPUs: pure |
//! | `thread_report` | one thread: its observations and diagnoses |
//! | `verdict` | whether the program wastes its time, or why that is unknown: pure |
//! | `report`, `tables`, `words` | findings, tables, and numbers in words |

mod diagnose;
mod diagnosis;
mod futexes;
mod glancing;
mod lock_functions;
mod observed;
mod options;
mod processes;
mod report;
mod roster;
mod sampling;
mod surroundings;
mod tables;
mod tally;
mod thread_report;
mod throughout;
mod tracing;
mod turns;
mod verdict;
mod watch;
mod words;

pub use diagnose::diagnose;
pub use diagnosis::{Certainty, Diagnosis, DiagnosisKind};
pub use observed::{
    Calls, Code, Futex, Glances, Naps, ObservedThread, OtherThreads, Owner, Prices, Slept, Title,
    Turns, Waits,
};
pub use options::Options;
pub use surroundings::{Totals, surroundings};
pub use thread_report::ThreadReport;

use std::collections::BTreeMap;

use unjank_host::sched::ThreadId;
use unjank_host::{Nanos, Result, Root};
use unjank_measure::{Findings, Monitor};

use crate::probe::prices;
use observed::share;
use turns::{Sleeper, pairs, take_turns};
use watch::Watched;

/// A thread that uses a smaller share of a CPU is idle.
const IDLE: f64 = 0.01;
/// A thread that waits for a CPU for this share of the time counts as runnable.
const RUNNABLE: f64 = 0.2;

/// The result for a process, or for the tree of processes that it has started.
#[derive(Debug)]
pub struct Examined {
    /// For a run record.
    pub findings: Findings,
    /// All threads that were observed, the most wasteful first.
    pub reports: Vec<ThreadReport>,
}

/// Watches a process and diagnoses each of its threads. `seed` decides when the
/// windows of the trace open.
///
/// # Errors
/// `Invalid`: no such process, or too short a watch. Missing permissions are no
/// error; the findings list them.
pub fn run(options: &Options, root: &Root, seed: u64, monitor: &dyn Monitor) -> Result<Examined> {
    options.check()?;
    // Fails early, before the prices are measured.
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
    let reports = examine(&watched, &prices);
    let totals = totals(&watched, &reports);
    report::report(options, root, watched, &prices, &reports, &totals, &mut findings);
    Ok(Examined { findings, reports })
}

/// Judges each thread beside the others.
fn examine(watched: &Watched, prices: &Prices) -> Vec<ThreadReport> {
    let mut all: Vec<ObservedThread> = watched
        .roster
        .observed()
        .map(|(seen, traced)| ObservedThread {
            calls: watched
                .tally
                .as_ref()
                .map(|tally| named(tally.calls_of(seen.thread, traced), watched)),
            code: watched.code.get(&seen.thread).cloned(),
            glances: watched.glancing.of(seen.thread),
            slept: watched.slept.get(&seen.thread).copied(),
            outsiders: watched.outsiders.get(&seen.thread).copied().unwrap_or(0.0),
            ..seen
        })
        .collect();
    let (turns, pairs) = wake_each_other(watched, &all);
    for seen in &mut all {
        seen.turns = turns.get(&seen.thread).copied();
        seen.partner = pairs.get(&seen.thread).copied();
    }
    let is_runnable = |it: &ObservedThread| it.ready_share().is_some_and(|share| share >= RUNNABLE);
    let is_idle = |it: &ObservedThread| it.cpu_share() < IDLE && !is_runnable(it);
    let (runnable, idle) = (
        all.iter().filter(|it| is_runnable(it)).count(),
        all.iter().filter(|it| is_idle(it)).count(),
    );
    let mut bound = std::collections::HashMap::new();
    for seen in all.iter().filter(|seen| seen.cpus.len() == 1) {
        *bound.entry(seen.cpus.to_string()).or_insert(0_usize) += 1;
    }
    let mut reports: Vec<ThreadReport> = all
        .drain(..)
        .map(|seen| {
            let same_cpu = bound.get(&seen.cpus.to_string()).map_or(0, |count| count - 1);
            let others = OtherThreads {
                runnable: runnable - usize::from(is_runnable(&seen)),
                idle: idle - usize::from(is_idle(&seen)),
                same_cpu,
            };
            ThreadReport { diagnoses: diagnose(&seen, &others, prices), observed: seen }
        })
        .collect();
    let rank = |it: &ThreadReport| {
        let kind = it.worst().kind;
        (kind != DiagnosisKind::Realtime, !kind.is_bad())
    };
    reports.sort_by(|one, other| {
        rank(one)
            .cmp(&rank(other))
            .then(other.wasted().total_cmp(&one.wasted()))
            .then(other.observed.cpu.cmp(&one.observed.cpu))
            .then(one.observed.thread.cmp(&other.observed.thread))
    });
    reports
}

/// Adds the names of futexes.
fn named(mut calls: Calls, watched: &Watched) -> Calls {
    for futex in [&mut calls.busiest, &mut calls.lock, &mut calls.outside].into_iter().flatten() {
        futex.name = watched.names.get(&futex.id).cloned();
    }
    calls
}

/// The threads that wake each other: groups that take turns, and pairs.
fn wake_each_other(
    watched: &Watched,
    all: &[ObservedThread],
) -> (BTreeMap<ThreadId, Turns>, BTreeMap<ThreadId, f64>) {
    let Some(tally) = &watched.tally else { return Default::default() };
    let sleeper = |seen: &ObservedThread| {
        let by = tally.wakers(seen.thread);
        let woken = by.values().sum();
        let waiting = seen.waiting_share();
        let fights_for_monitors = seen.contended_monitors().is_some();
        (seen.thread, Sleeper { waiting, woken, by, fights_for_monitors })
    };
    let (sleepers, seconds) = (all.iter().map(sleeper).collect(), tally.traced.as_secs_f64());
    (take_turns(&sleepers, seconds), pairs(&sleepers, seconds))
}

fn totals(watched: &Watched, reports: &[ThreadReport]) -> Totals {
    let wanted = reports.iter().map(|it| it.observed.cpu + it.observed.ready.unwrap_or_default());
    let cpus = reports.iter().flat_map(|it| it.observed.cpus.iter());
    let length = watched.roster.length();
    Totals {
        throttled: watched.throttled,
        stolen: watched.stolen,
        runnable: share(wanted.fold(Nanos::ZERO, |sum, time| sum + time), length),
        cpus: cpus.collect::<std::collections::BTreeSet<_>>().len(),
        wasted: reports.iter().map(|it| it.wasted_over(length)).sum(),
    }
}
