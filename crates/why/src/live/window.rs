//! A window of a running program, recorded and explained.

use std::collections::BTreeSet;

use unjank_host::process::pid::tree;
use unjank_host::sched::ThreadId;
use unjank_host::threads;
use unjank_host::tracefs::Tracefs;
use unjank_host::waiting_call::{blocked_in, has_our_numbers};
use unjank_host::{Bytes, Nanos, Result, Root, Timestamp};
use unjank_measure::Monitor;

use super::machine::{FOREIGN, State, StateReader, memory_was_full, name, stolen, throttled};
use super::threads::choose_thread;
use crate::history::{Asleep, Wait};
use crate::record::{Recorded, Recording, RecordingOptions, StacksOf};
use crate::report::{Explained, Family};

/// The interval between checks whether the window is over.
const LOOK: Nanos = Nanos::from_millis(50);
/// The most rounds in which new threads are looked for.
const ROUNDS: usize = 8;

/// The thread and the window to record.
#[derive(Debug, Clone)]
pub struct Window {
    /// Id of the process.
    pub process: u32,
    /// The number or the name of its thread; `None` for the main thread.
    pub thread: Option<String>,
    /// How long to record.
    pub length: Nanos,
    /// The memory for events. The window ends when it is full.
    pub memory: Bytes,
    /// The threads whose stacks are recorded.
    pub stacks: StacksOf,
}

/// How a window ended.
enum End {
    /// It has its whole length.
    InTime,
    /// The user wants to stop.
    Interrupted,
    /// The thread ended.
    Thread,
    /// The memory for events was full.
    Memory,
}

/// Records a window of a running program, and explains it. `begun` is called when the
/// recording has begun.
///
/// # Errors
/// There is no such process or thread; the errors of [`Recording`].
pub fn record_window(
    wanted: &Window,
    root: &Root,
    tracefs: &Tracefs,
    begun: impl FnOnce(),
    monitor: &dyn Monitor,
) -> Result<Explained> {
    let &Window { process, memory, stacks, .. } = wanted;
    let thread = choose_thread(root, process, wanted.thread.as_deref())?;
    let machine = StateReader::new(root);
    let mut known = family(root, process);
    let ids: Vec<ThreadId> = known.iter().map(|(_, thread)| *thread).collect();
    let recording =
        Recording::start(tracefs, root, &RecordingOptions { threads: &ids, memory, stacks })?;
    follow_new(&recording, root, process, &mut known)?;
    // After the start: the recording has every later change of a clock.
    let before = machine.read();
    let asleep = asleep(root, &known);
    let from = Timestamp::now();
    begun();
    let end = watch(&recording, wanted.length, root, (process, thread), monitor);
    let now = Timestamp::now();
    let Recorded { trace, full_at, stacks, .. } = recording.finish()?;
    let throttled = throttled(&before, process, root);
    let State { clocks, swap, cpu_time, .. } = before;
    let stolen = stolen(cpu_time, root);
    let ended = Family::of(&trace, thread, now).end_of(thread);
    let to = [ended, full_at].into_iter().flatten().fold(now, Ord::min).max(from);
    let mut explained = Explained::in_window(trace, &asleep, &known, thread, (from, to), clocks);
    name(&mut explained, swap, stacks, root);
    explained.know_throttled(throttled);
    let length = explained.total();
    match end {
        End::InTime => {}
        End::Interrupted => explained.warn(format!("the window was ended after {length}")),
        End::Thread => {
            explained.warn(format!("the thread ended after {length}: the window ends there"));
        }
        End::Memory => explained.warn(memory_was_full(memory, length)),
    }
    if has_our_numbers(root, process) == Some(false) {
        explained.warn(FOREIGN);
    }
    if let Some(stolen) = stolen {
        explained.warn(stolen);
    }
    Ok(explained)
}

/// The threads of a process and of all processes that it has started, each with
/// its process.
fn family(root: &Root, process: u32) -> BTreeSet<(u32, ThreadId)> {
    let processes = tree(root, process, std::process::id()).into_iter();
    let threads = processes.flat_map(|process| {
        // A process may have ended meanwhile.
        let threads = threads::ids(root, process).unwrap_or_default();
        threads.into_iter().map(move |thread| (process, thread))
    });
    threads.collect()
}

/// Also records the threads that were started after `known` was read and before the
/// recording began. Threads that start later are followed by the recording itself.
fn follow_new(
    recording: &Recording,
    root: &Root,
    process: u32,
    known: &mut BTreeSet<(u32, ThreadId)>,
) -> Result<()> {
    for _ in 0..ROUNDS {
        let now = family(root, process);
        let new: Vec<ThreadId> = now.difference(known).map(|(_, thread)| *thread).collect();
        if new.is_empty() {
            break;
        }
        recording.record_also(&new)?;
        known.extend(now);
    }
    Ok(())
}

/// The threads that sleep in a system call or are stopped, in the order in which they were read.
fn asleep(root: &Root, threads: &BTreeSet<(u32, ThreadId)>) -> Vec<Asleep> {
    let look = |&(process, thread): &(u32, ThreadId)| {
        let wait = if let Some('T' | 't') = threads::state(root, process, thread) {
            Wait::Stopped
        } else {
            let call = blocked_in(root, process, thread)?;
            let [first, second, ..] = call.arguments;
            Wait::Call { number: call.number, arguments: [first, second] }
        };
        Some(Asleep { thread, at: Timestamp::now(), wait })
    };
    threads.iter().filter_map(look).collect()
}

/// Waits until the window is over.
fn watch(
    recording: &Recording,
    all: Nanos,
    root: &Root,
    (process, thread): (u32, ThreadId),
    monitor: &dyn Monitor,
) -> End {
    let began = Timestamp::now();
    let end = began + all;
    loop {
        let now = Timestamp::now();
        if now >= end {
            return End::InTime;
        }
        if monitor.stop_requested() {
            return End::Interrupted;
        }
        if recording.is_full() {
            return End::Memory;
        }
        if matches!(threads::state(root, process, thread), None | Some('Z' | 'X')) {
            return End::Thread;
        }
        let share = now.since(began).get() as f64 / all.get() as f64;
        monitor.progress(share, "recording");
        (now + LOOK).min(end).sleep_until();
    }
}
