//! A window of a running program, recorded and explained.

use std::collections::BTreeSet;
use std::io::{self, IsTerminal as _};

use anyhow::{Result, bail};
use unjank_host::process::pid::tree;
use unjank_host::sched::ThreadId;
use unjank_host::threads::{self, Thread};
use unjank_host::tracefs::Tracefs;
use unjank_host::waiting_call::{blocked_in, has_our_numbers};
use unjank_host::{Bytes, Error, Nanos, Root, Timestamp};
use unjank_measure::Monitor;
use unjank_why::history::{Asleep, Wait};
use unjank_why::record::{Recorded, Recording, StacksOf, Wanted};
use unjank_why::report::{Explained, Family};

use super::about::know_server;
use super::clocks::ClockReader;
use super::{files, kernel};
use crate::{output, values};

/// How long a window is by default.
pub(super) const LENGTH: &str = "5s";
/// Interval between looks whether the thread still runs.
const LOOK: Nanos = Nanos::from_millis(50);
/// Rounds in which new threads are looked for.
const ROUNDS: usize = 8;
/// Threads that an error lists.
const LISTED: usize = 50;

/// Options for a program that runs already.
#[derive(Debug, clap::Args)]
#[command(next_help_heading = "Running programs")]
pub(crate) struct WindowArgs {
    /// Explain what a running process waits for, instead of a launch
    #[arg(
        long,
        value_name = "PID",
        conflicts_with_all = ["command", "file", "ready", "launches", "gap", "timeout", "cost"]
    )]
    pub(super) pid: Option<u32>,
    /// How long to record
    #[arg(long = "for", value_name = "TIME", default_value = LENGTH, requires = "pid", value_parser = values::duration)]
    pub(super) duration: Nanos,
}

/// Why a window ended before its time.
enum End {
    /// It did not.
    InTime,
    /// The user wants to stop.
    Interrupted,
    /// The thread ended.
    Thread,
    /// The memory for events was full.
    Memory,
}

/// Records a window of process `pid`, and explains it.
pub(super) fn record(
    args: &WindowArgs,
    (memory, stacks): (Bytes, StacksOf),
    (pid, thread): (u32, Option<&str>),
    root: &Root,
    tracefs: &Tracefs,
    monitor: &dyn Monitor,
) -> Result<Explained> {
    let thread = chosen(root, pid, thread)?;
    let clocks = ClockReader::new(root);
    let clocks = clocks.read();
    let swap = files::swap(root);
    let mut known = family(root, pid);
    let ids: Vec<ThreadId> = known.iter().map(|(_, thread)| *thread).collect();
    let wanted = Wanted { threads: &ids, memory, stacks };
    let recording = Recording::start(tracefs, root, &wanted)?;
    follow_new(&recording, root, pid, &mut known)?;
    let asleep = asleep(root, &known);
    let from = Timestamp::now();
    // On a terminal, the progress bar says so.
    if !io::stderr().is_terminal() {
        output::remark(&format!("recording process {pid}"));
    }
    let end = watch(&recording, args, root, (pid, thread), monitor);
    let now = Timestamp::now();
    let Recorded { trace, full_at, stacks, .. } = recording.finish()?;
    let ended = Family::of(&trace, thread, now).end_of(thread);
    let to = [ended, full_at].into_iter().flatten().fold(now, Ord::min).max(from);
    let mut explained = Explained::in_window(trace, &asleep, thread, (from, to), clocks);
    explained.know_swap(swap);
    explained.name_functions(kernel::names(root, &explained));
    explained.name_files(files::names(root, &explained));
    know_server(&mut explained, root);
    if let Some(stacks) = stacks {
        let threads = explained.threads_on_path();
        explained.add_stacks(stacks.map(|records| records.stacks_of(root, &threads)));
    }
    let length = explained.total();
    match end {
        End::InTime => {}
        End::Interrupted => explained.warn(format!("the window was ended after {length}")),
        End::Thread => {
            explained.warn(format!("the thread ended after {length}: the window ends there"));
        }
        End::Memory => explained.warn(memory_was_full(memory, length)),
    }
    if has_our_numbers(root, pid) == Some(false) {
        explained.warn(FOREIGN);
    }
    Ok(explained)
}

/// A warning about a 32-bit program.
pub(super) const FOREIGN: &str = "the program's system calls have numbers of another \
    architecture: what the waits are in may be wrong";

/// A warning that a recording ended early.
pub(super) fn memory_was_full(memory: Bytes, after: Nanos) -> String {
    format!(
        "the {memory} for events (--memory) were full: the recording, and what is explained, \
         ended after {after}"
    )
}

/// The thread of `process` that `name` is the number or the name of; the main
/// thread without one.
///
/// # Errors
/// `Invalid` if there is none, or there are several; it lists them.
pub(super) fn chosen(root: &Root, process: u32, name: Option<&str>) -> Result<ThreadId> {
    let main = ThreadId(process);
    let Some(name) = name else {
        threads::ids(root, process)?;
        return match threads::state(root, process, main) {
            Some('Z' | 'X') | None => bail!(Error::Invalid(format!(
                "the main thread of process {process} has ended; choose another with --thread: {}",
                list(threads_of(root, process)?)
            ))),
            Some(_) => Ok(main),
        };
    };
    let threads = threads_of(root, process)?;
    let number = name.parse().ok().map(ThreadId);
    if let Some(thread) = threads.iter().find(|thread| Some(thread.id) == number) {
        return Ok(thread.id);
    }
    let (named, others): (Vec<_>, Vec<_>) =
        threads.into_iter().partition(|thread| thread.name == name);
    match named.as_slice() {
        [thread] => Ok(thread.id),
        [] => bail!(Error::Invalid(format!(
            "process {process} has no thread {name:?}; it has: {}",
            list(others)
        ))),
        several => bail!(Error::Invalid(format!(
            "{} threads of process {process} are called {name:?}; choose one by its number with \
             --thread: {}",
            several.len(),
            list(named)
        ))),
    }
}

/// The threads of a process that have not ended.
fn threads_of(root: &Root, process: u32) -> Result<Vec<Thread>> {
    let ids = threads::ids(root, process)?.into_iter();
    let alive = ids.filter(|&id| !matches!(threads::state(root, process, id), Some('Z' | 'X')));
    Ok(alive.filter_map(|id| threads::look(root, process, id).ok().flatten()).collect())
}

/// `worker 4712 (1.20 s of CPU time), …`, the busiest first.
fn list(mut threads: Vec<Thread>) -> String {
    threads.sort_by_key(|thread| (std::cmp::Reverse(thread.cpu_time), thread.id.0));
    let shown = threads.iter().take(LISTED);
    let mut words: Vec<String> = shown
        .map(|it| format!("{} {} ({} of CPU time)", it.name.escape_debug(), it.id.0, it.cpu_time))
        .collect();
    if threads.len() > LISTED {
        words.push(format!("and {} more", threads.len() - LISTED));
    }
    words.join(", ")
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

/// Records threads, too, that were started between the look at all of them and
/// the beginning of the recording, which follows all that start later.
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

/// The threads that sleep in a system call, in order of time.
fn asleep(root: &Root, threads: &BTreeSet<(u32, ThreadId)>) -> Vec<Asleep> {
    let look = |&(process, thread): &(u32, ThreadId)| {
        let call = blocked_in(root, process, thread)?;
        let [first, second, ..] = call.arguments;
        let wait = Wait::Call { number: call.number, arguments: [first, second] };
        Some(Asleep { thread, at: Timestamp::now(), wait })
    };
    threads.iter().filter_map(look).collect()
}

/// Waits until the window is over.
fn watch(
    recording: &Recording,
    args: &WindowArgs,
    root: &Root,
    (process, thread): (u32, ThreadId),
    monitor: &dyn Monitor,
) -> End {
    let began = Timestamp::now();
    let all = args.duration;
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
