//! One visit: threads that take one lock over and over, with work inside and
//! outside.
//!
//! A visit has three phases, and one word says which it is. In the first,
//! threads get under way. In the second, operations are counted and nothing
//! else is done, because a look at a clock takes longer than an empty section.
//! In the third, each wait is timed. A thread that sees a new phase notes what
//! it has done so far, so one that was off the CPU when the phase began adds no
//! more than the operation it was in.

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

use super::section::Section;
use super::work;
use crate::error::{Error, Result};

/// The phases, as the word has them. It goes up only.
const COUNTING: u32 = 1;
const TIMING: u32 = 2;
const OVER: u32 = 3;

/// Between two looks whether all threads are under way.
const LOOK: Duration = Duration::from_millis(1);

/// Batches and sections of each, to find out what an empty section costs.
const BATCHES: usize = 31;
const SECTIONS: u32 = 1_000;

/// What a visit does.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Task {
    /// Threads that take the lock.
    pub(crate) threads: usize,
    /// Multiplications with the lock held.
    pub(crate) section: u32,
    /// Multiplications between two sections.
    pub(crate) outside: u32,
    /// The length of the second and third phase each; the first is a fifth.
    pub(crate) phase: Nanos,
    /// The one CPU of all threads.
    pub(crate) pinned: Option<usize>,
    /// What every second thread is nicer by.
    pub(crate) nicer: Option<i32>,
}

/// Reads the energy that was taken so far, where something tells it.
pub(crate) type ReadEnergy<'a> = &'a dyn Fn() -> Option<Joules>;

/// A task, and what this process adds to it.
pub(crate) struct Visit<'a> {
    pub(crate) task: Task,
    /// The name of the strategy.
    pub(crate) strategy: &'static str,
    pub(crate) energy: ReadEnergy<'a>,
}

/// What was seen in a visit.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct Seen {
    /// Operations of each thread in the second phase.
    pub(crate) operations: Vec<u64>,
    /// The length of that phase.
    pub(crate) elapsed: Nanos,
    /// CPU time of all threads in it.
    pub(crate) cpu_time: Nanos,
    /// Context switches of all threads in it.
    pub(crate) voluntary: u64,
    pub(crate) involuntary: u64,
    /// Energy that was taken in it.
    pub(crate) energy: Option<Joules>,
    /// Waits of the third phase; for the control, how long each operation took.
    pub(crate) waits: SeriesRecord,
}

/// What the threads share. Each part is on a line of its own, so that looking
/// at one does not slow another.
struct Table<L> {
    lock: Line<L>,
    /// What the lock protects, written with a plain load and a plain store: two
    /// threads in the section at once would lose counts.
    protected: Line<AtomicU64>,
    phase: Line<AtomicU32>,
    /// Threads that have begun.
    running: Line<AtomicUsize>,
}

#[repr(align(128))]
struct Line<T>(T);

/// What one thread has seen.
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
pub(crate) fn run<L: Section>(visit: &Visit<'_>) -> Result<Seen> {
    let task = visit.task;
    let table = Table {
        lock: Line(L::new()?),
        protected: Line(AtomicU64::new(0)),
        phase: Line(AtomicU32::new(0)),
        running: Line(AtomicUsize::new(0)),
    };
    thread::scope(|scope| {
        let table = &table;
        let mut threads = Vec::with_capacity(task.threads);
        for number in 0..task.threads {
            let spawned = thread::Builder::new()
                .name(format!("lock/{number}"))
                .spawn_scoped(scope, move || worker(table, task, number));
            match spawned {
                Ok(thread) => threads.push(thread),
                Err(error) => {
                    table.phase.0.store(OVER, Ordering::Relaxed);
                    let thread = format!("thread {number}");
                    return Err(unjank_host::Error::syscall("clone", thread, error).into());
                }
            }
        }
        let (elapsed, cpu_time, energy) = direct(table, visit);
        let mut seen = Seen {
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
            seen.operations.push(own.counted);
            seen.voluntary += own.switches.voluntary;
            seen.involuntary += own.switches.involuntary;
            waits.absorb(&own.waits);
        }
        seen.waits = waits.finish();
        if L::EXCLUDES {
            check(visit.strategy, all, table.protected.0.load(Ordering::Relaxed))?;
        }
        Ok(seen)
    })
}

/// Says which phase it is: the length, CPU time and energy of the second.
fn direct<L>(table: &Table<L>, visit: &Visit<'_>) -> (Nanos, Nanos, Option<Joules>) {
    let phase: Duration = visit.task.phase.into();
    while table.running.0.load(Ordering::Relaxed) < visit.task.threads {
        thread::sleep(LOOK);
    }
    thread::sleep(phase / 5);
    let energy = (visit.energy)();
    let (start, cpu) = (Timestamp::now(), process_cpu_time());
    table.phase.0.store(COUNTING, Ordering::Relaxed);
    thread::sleep(phase);
    table.phase.0.store(TIMING, Ordering::Relaxed);
    let (end, cpu_end) = (Timestamp::now(), process_cpu_time());
    let energy = (visit.energy)().zip(energy).map(|(end, start)| end - start);
    thread::sleep(phase);
    table.phase.0.store(OVER, Ordering::Relaxed);
    (end.since(start), cpu_end - cpu, energy)
}

fn worker<L: Section>(table: &Table<L>, task: Task, number: usize) -> Result<Own> {
    let placed = place(task, number);
    // Whoever cannot be placed is waited for, too.
    table.running.0.fetch_add(1, Ordering::Relaxed);
    let _pinned = placed?;
    // The control has nothing that protects a count of all.
    let own_count = AtomicU64::new(0);
    let count = if L::EXCLUDES { &table.protected.0 } else { &own_count };
    let mut waits = Series::new("lock/bench/wait");
    let warm_up = count_until(COUNTING, table, task, count);
    let before = ContextSwitches::of_this_thread()?;
    let counted = count_until(TIMING, table, task, count);
    let switches = ContextSwitches::of_this_thread()?.since(before);
    let timed = time_until_over(table, task, count, &mut waits);
    Ok(Own { all: warm_up + counted + timed, counted, switches, waits })
}

/// Takes the lock until a phase begins: how often.
#[inline]
fn count_until<L: Section>(phase: u32, table: &Table<L>, task: Task, count: &AtomicU64) -> u64 {
    let mut operations = 0;
    while table.phase.0.load(Ordering::Relaxed) < phase {
        table.lock.0.with(|| section(task, count));
        work::run(task.outside);
        operations += 1;
    }
    operations
}

/// The same in the third phase, timing how long each wait took. A thread that
/// has waited all through that phase counts as one wait of its length.
#[inline]
fn time_until_over<L: Section>(
    table: &Table<L>,
    task: Task,
    count: &AtomicU64,
    waits: &mut Series,
) -> u64 {
    if table.phase.0.load(Ordering::Relaxed) == OVER {
        waits.record(task.phase);
        return 0;
    }
    let mut operations = 0;
    let mut before = Timestamp::now();
    loop {
        if L::EXCLUDES {
            before = Timestamp::now();
        }
        let has_it = table.lock.0.with(|| {
            let has_it = Timestamp::now();
            section(task, count);
            has_it
        });
        work::run(task.outside);
        waits.record(has_it.since(before));
        before = has_it;
        operations += 1;
        if table.phase.0.load(Ordering::Relaxed) == OVER {
            return operations;
        }
    }
}

/// What is done with the lock held. The store is as far from the load as the
/// section is long.
#[inline]
fn section(task: Task, count: &AtomicU64) {
    let seen = count.load(Ordering::Relaxed);
    work::run(task.section);
    count.store(seen.wrapping_add(1), Ordering::Relaxed);
}

/// Puts the calling thread, which ends with the visit, where the task has it.
fn place(task: Task, number: usize) -> Result<Option<AffinityGuard>> {
    if let Some(nicer) = task.nicer.filter(|_| number % 2 == 1) {
        let me = ThreadId::current();
        let nice = policy_of(me)?.0.fair().map_or(0, |fair| fair.nice);
        set_policy(me, Policy::other((nice + nicer).min(19)), false)?;
    }
    Ok(task.pinned.map(AffinityGuard::pin_to).transpose()?)
}

/// Whether every operation had the lock to itself.
fn check(strategy: &'static str, done: u64, protected: u64) -> Result<()> {
    if done == protected { Ok(()) } else { Err(Error::NotExclusive { strategy, done, protected }) }
}

/// What an empty section costs a thread that is alone, in nanoseconds: the
/// median of [`BATCHES`] batches.
///
/// # Errors
/// `Unsupported` without such a lock.
pub(crate) fn uncontended<L: Section>() -> Result<f64> {
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

    fn visit(strategy: Strategy, task: Task) -> Result<Seen> {
        strategy.visit(task, &|| None)
    }

    #[test]
    fn every_strategy_excludes_and_counts() {
        let control = Strategy::control();
        for strategy in Strategy::all().iter().copied().chain([control]) {
            for threads in [1, 3] {
                // On a busy machine, a phase may pass before any thread has a CPU.
                let mut visits = (0..200).map(|_| visit(strategy, task(threads)));
                let seen = visits.find(|seen| match seen {
                    Ok(seen) => seen.operations.iter().sum::<u64>() > 0,
                    Err(_) => true,
                });
                let seen = match seen.expect("one of many visits has an operation") {
                    Err(Error::Host(unjank_host::Error::Unsupported(_))) => continue,
                    seen => seen.unwrap(),
                };
                assert_eq!(seen.operations.len(), threads, "{}", strategy.name);
                assert!(seen.waits.n >= threads as u64, "{}", strategy.name);
                assert!(seen.elapsed >= task(threads).phase);
            }
        }
    }

    /// Lets everybody in.
    struct Broken;

    impl Section for Broken {
        fn new() -> unjank_host::Result<Self> {
            Ok(Self)
        }

        fn with<R>(&self, section: impl FnOnce() -> R) -> R {
            section()
        }
    }

    #[test]
    fn a_lock_that_does_not_exclude_is_found_out() {
        // On one CPU, threads meet in the section only if they are preempted
        // there; so the section is nearly all that they do.
        let task = Task { section: 2_000_000, outside: 0, ..task(4) };
        let visit = Visit { task, strategy: "broken", energy: &|| None };
        let error = run::<Broken>(&visit).unwrap_err().to_string();
        assert!(error.starts_with("broken does not exclude: of "), "{error}");
        assert!(check("x", 7, 7).is_ok() && check("x", 8, 7).is_err());
    }

    #[test]
    fn threads_are_placed_and_made_nicer() {
        let cpu = unjank_host::sched::CpuSet::allowed().unwrap().iter().next().unwrap();
        let placed = Task { pinned: Some(cpu), nicer: Some(10), ..task(2) };
        assert_eq!(visit(Strategy::control(), placed).unwrap().operations.len(), 2);
        let nowhere = Task { pinned: Some(1023), ..task(2) };
        assert!(visit(Strategy::control(), nowhere).is_err(), "and nobody hangs");
    }
}
