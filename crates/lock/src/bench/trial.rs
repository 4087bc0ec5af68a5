//! One trial: threads take one lock over and over, with work inside and outside.
//!
//! A trial has three phases, and one word holds the current one. In the first,
//! all threads start. In the second, operations are counted and nothing else,
//! because reading a clock takes longer than an empty section. In the third, each
//! wait is timed. A thread notes its count when it first sees a new phase, so one
//! that was off the CPU at that moment adds no more than the operation it was in.

use std::sync::atomic::{AtomicU32, AtomicU64, AtomicUsize, Ordering};
use std::thread;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use unjank_host::clock::process_cpu_time;
use unjank_host::context_switches::ContextSwitches;
use unjank_host::sched::{AffinityGuard, Policy, ThreadId, policy_of, set_policy};
use unjank_host::{Joules, Nanos, Timestamp};
use unjank_measure::stats::order;
use unjank_measure::{Series, SeriesRecord};

use super::tested_lock::TestedLock;
use super::work;
use crate::energy::ReadEnergy;
use crate::error::{Error, Result};

/// Values of the phase word, which only increases; 0 is the first phase.
const COUNTING: u32 = 1;
const TIMING: u32 = 2;
const OVER: u32 = 3;

/// The time between two checks that all threads run.
const LOOK: Duration = Duration::from_millis(1);

/// Batches, and sections in each, to measure the cost of an empty section.
const BATCHES: usize = 31;
const SECTIONS: u32 = 1_000;

/// The parameters of a trial.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Task {
    /// Number of threads that take the lock.
    pub(crate) threads: usize,
    /// Multiplications with the lock held.
    pub(crate) section: u32,
    /// Multiplications between two sections.
    pub(crate) outside: u32,
    /// The length of the second and third phase each; the first is a fifth.
    pub(crate) phase: Nanos,
    /// The only CPU that all threads share, if they are pinned.
    pub(crate) pinned: Option<usize>,
    /// Increment of the nice value of every second thread.
    pub(crate) nicer: Option<i32>,
}

pub(crate) struct Trial<'a> {
    pub(crate) task: Task,
    pub(crate) strategy: &'static str,
    pub(crate) energy: ReadEnergy<'a>,
}

/// The result of a trial.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct TrialResult {
    /// Operations of each thread in the second phase.
    pub(crate) operations: Vec<u64>,
    /// Length of the second phase.
    pub(crate) elapsed: Nanos,
    /// CPU time of all threads in the second phase.
    pub(crate) cpu_time: Nanos,
    /// Context switches of all threads in the second phase.
    pub(crate) voluntary: u64,
    pub(crate) involuntary: u64,
    /// Energy used in the second phase.
    pub(crate) energy: Option<Joules>,
    /// Waits of the third phase; for the control, lengths of operations.
    pub(crate) waits: SeriesRecord,
}

/// What the threads share. Each part has its own cache line, so that reading one
/// does not slow down another.
struct Shared<L> {
    lock: Line<L>,
    /// A counter that the lock protects, with a separate load and store: two threads
    /// in the section at once lose counts.
    protected: Line<AtomicU64>,
    phase: Line<AtomicU32>,
    /// Threads that have begun.
    running: Line<AtomicUsize>,
}

#[repr(align(128))]
struct Line<T>(T);

/// The counts of one thread.
struct Own {
    all: u64,
    counted: u64,
    switches: ContextSwitches,
    waits: Series,
}

/// Runs the task over a new lock.
///
/// # Errors
/// `Unsupported` without such a lock; two threads that were in a section at the
/// same time; a thread could not be started or placed.
pub(crate) fn run<L: TestedLock>(trial: &Trial<'_>) -> Result<TrialResult> {
    let task = trial.task;
    let shared = Shared {
        lock: Line(L::new()?),
        protected: Line(AtomicU64::new(0)),
        phase: Line(AtomicU32::new(0)),
        running: Line(AtomicUsize::new(0)),
    };
    thread::scope(|scope| {
        let shared = &shared;
        let mut threads = Vec::with_capacity(task.threads);
        for number in 0..task.threads {
            let spawned = thread::Builder::new()
                .name(format!("lock/{number}"))
                .spawn_scoped(scope, move || worker(shared, task, number));
            match spawned {
                Ok(thread) => threads.push(thread),
                Err(error) => {
                    shared.phase.0.store(OVER, Ordering::Relaxed);
                    let thread = format!("thread {number}");
                    return Err(unjank_host::Error::syscall("clone", thread, error).into());
                }
            }
        }
        let (elapsed, cpu_time, energy) = run_phases(shared, trial);
        let mut result = TrialResult {
            operations: Vec::with_capacity(task.threads),
            elapsed,
            cpu_time,
            voluntary: 0,
            involuntary: 0,
            energy,
            waits: Series::new("").finish(),
        };
        let (mut all, mut waits) = (0, Series::new("lock/bench/wait"));
        for thread in threads {
            let own = thread.join().map_err(|_| Error::Panicked)??;
            all += own.all;
            result.operations.push(own.counted);
            result.voluntary += own.switches.voluntary;
            result.involuntary += own.switches.involuntary;
            waits.absorb(&own.waits);
        }
        result.waits = waits.finish();
        if L::EXCLUDES {
            check(trial.strategy, all, shared.protected.0.load(Ordering::Relaxed))?;
        }
        Ok(result)
    })
}

/// Moves through the phases. Returns length, CPU time and energy of the second.
fn run_phases<L>(shared: &Shared<L>, trial: &Trial<'_>) -> (Nanos, Nanos, Option<Joules>) {
    let phase: Duration = trial.task.phase.into();
    while shared.running.0.load(Ordering::Relaxed) < trial.task.threads {
        thread::sleep(LOOK);
    }
    thread::sleep(phase / 5);
    let energy = (trial.energy)();
    let (start, cpu) = (Timestamp::now(), process_cpu_time());
    shared.phase.0.store(COUNTING, Ordering::Relaxed);
    thread::sleep(phase);
    shared.phase.0.store(TIMING, Ordering::Relaxed);
    let (end, cpu_end) = (Timestamp::now(), process_cpu_time());
    let energy = (trial.energy)().zip(energy).map(|(end, start)| end - start);
    thread::sleep(phase);
    shared.phase.0.store(OVER, Ordering::Relaxed);
    (end.since(start), cpu_end - cpu, energy)
}

fn worker<L: TestedLock>(shared: &Shared<L>, task: Task, number: usize) -> Result<Own> {
    let placed = place(task, number);
    // Counts threads that could not be placed as well, or the start would hang.
    shared.running.0.fetch_add(1, Ordering::Relaxed);
    let _pinned = placed?;
    // The control cannot protect a common counter.
    let own_count = AtomicU64::new(0);
    let count = if L::EXCLUDES { &shared.protected.0 } else { &own_count };
    let mut waits = Series::new("lock/bench/wait");
    let warm_up = count_until(COUNTING, shared, task, count);
    let before = ContextSwitches::of_this_thread()?;
    let counted = count_until(TIMING, shared, task, count);
    let switches = ContextSwitches::of_this_thread()?.since(before);
    let timed = time_until_over(shared, task, count, &mut waits);
    Ok(Own { all: warm_up + counted + timed, counted, switches, waits })
}

/// Takes the lock until a phase begins. Returns how often.
#[inline]
fn count_until<L: TestedLock>(
    phase: u32,
    shared: &Shared<L>,
    task: Task,
    count: &AtomicU64,
) -> u64 {
    let mut operations = 0;
    while shared.phase.0.load(Ordering::Relaxed) < phase {
        shared.lock.0.with(|| section(task, count));
        work::run(task.outside);
        operations += 1;
    }
    operations
}

/// Takes the lock in the third phase and times each wait. A thread that has waited
/// all through that phase counts as one wait of its length.
#[inline]
fn time_until_over<L: TestedLock>(
    shared: &Shared<L>,
    task: Task,
    count: &AtomicU64,
    waits: &mut Series,
) -> u64 {
    if shared.phase.0.load(Ordering::Relaxed) == OVER {
        waits.record(task.phase);
        return 0;
    }
    let mut operations = 0;
    let mut before = Timestamp::now();
    loop {
        if L::EXCLUDES {
            before = Timestamp::now();
        }
        let has_it = shared.lock.0.with(|| {
            let has_it = Timestamp::now();
            section(task, count);
            has_it
        });
        work::run(task.outside);
        waits.record(has_it.since(before));
        before = has_it;
        operations += 1;
        if shared.phase.0.load(Ordering::Relaxed) == OVER {
            return operations;
        }
    }
}

/// The section. Load and store are at its two ends.
#[inline]
fn section(task: Task, count: &AtomicU64) {
    let seen = count.load(Ordering::Relaxed);
    work::run(task.section);
    count.store(seen.wrapping_add(1), Ordering::Relaxed);
}

/// Applies the task's affinity and nice value to the calling thread, which ends
/// with the trial.
fn place(task: Task, number: usize) -> Result<Option<AffinityGuard>> {
    if let Some(nicer) = task.nicer.filter(|_| number % 2 == 1) {
        let me = ThreadId::current();
        let nice = policy_of(me)?.0.fair().map_or(0, |fair| fair.nice);
        set_policy(me, Policy::other((nice + nicer).min(19)), false)?;
    }
    Ok(task.pinned.map(AffinityGuard::pin_to).transpose()?)
}

/// Checks that no two operations held the lock at once.
fn check(strategy: &'static str, done: u64, protected: u64) -> Result<()> {
    if done == protected { Ok(()) } else { Err(Error::NotExclusive { strategy, done, protected }) }
}

/// The cost of an uncontended empty section, in nanoseconds: the median of
/// [`BATCHES`] batches.
///
/// # Errors
/// `Unsupported` without such a lock.
pub(crate) fn uncontended<L: TestedLock>() -> Result<f64> {
    let (lock, count) = (L::new()?, AtomicU64::new(0));
    let mut batches: Vec<f64> = (0..BATCHES)
        .map(|_| {
            let start = Timestamp::now();
            for _ in 0..SECTIONS {
                std::hint::black_box(&lock).with(|| {
                    let seen = count.load(Ordering::Relaxed);
                    count.store(seen.wrapping_add(1), Ordering::Relaxed);
                });
            }
            Timestamp::now().since(start).get() as f64 / f64::from(SECTIONS)
        })
        .collect();
    Ok(order::median(&mut batches).map_or(0.0, |(median, _)| median))
}

#[cfg(test)]
mod tests {
    use super::super::strategy::Strategy;
    use super::*;

    fn task(threads: usize) -> Task {
        let phase = Nanos::from_millis(4);
        Task { threads, section: 20, outside: 20, phase, pinned: None, nicer: None }
    }

    fn run_trial(strategy: Strategy, task: Task) -> Result<TrialResult> {
        strategy.run_trial(task, &|| None)
    }

    #[test]
    fn every_strategy_excludes_and_counts() {
        let control = Strategy::control();
        for strategy in Strategy::all().iter().copied().chain([control]) {
            for threads in [1, 3] {
                // On a busy machine, a phase may pass before any thread has a CPU.
                let mut trials = (0..200).map(|_| run_trial(strategy, task(threads)));
                let result = trials.find(|result| match result {
                    Ok(result) => result.operations.iter().sum::<u64>() > 0,
                    Err(_) => true,
                });
                let result = match result.expect("one of many trials has an operation") {
                    Err(Error::Host(unjank_host::Error::Unsupported(_))) => continue,
                    result => result.unwrap(),
                };
                assert_eq!(result.operations.len(), threads, "{}", strategy.name);
                assert!(result.waits.n >= threads as u64, "{}", strategy.name);
                assert!(result.elapsed >= task(threads).phase);
            }
        }
    }

    /// A lock that excludes nobody.
    struct Broken;

    impl TestedLock for Broken {
        fn new() -> unjank_host::Result<Self> {
            Ok(Self)
        }

        fn with<R>(&self, section: impl FnOnce() -> R) -> R {
            section()
        }
    }

    #[test]
    fn a_lock_that_does_not_exclude_is_detected() {
        // On one CPU, threads meet in the section only if they are preempted
        // there; so the section is nearly all that they do.
        let task = Task { section: 2_000_000, outside: 0, ..task(4) };
        let trial = Trial { task, strategy: "broken", energy: &|| None };
        let error = run::<Broken>(&trial).unwrap_err().to_string();
        assert!(error.starts_with("two threads held broken at the same time: "), "{error}");
        assert!(check("x", 7, 7).is_ok() && check("x", 8, 7).is_err());
    }

    #[test]
    fn threads_are_placed_and_made_nicer() {
        let cpu = unjank_host::sched::CpuSet::allowed().unwrap().iter().next().unwrap();
        let placed = Task { pinned: Some(cpu), nicer: Some(10), ..task(2) };
        assert_eq!(run_trial(Strategy::control(), placed).unwrap().operations.len(), 2);
        let nowhere = Task { pinned: Some(1023), ..task(2) };
        assert!(run_trial(Strategy::control(), nowhere).is_err(), "and nobody hangs");
    }
}
