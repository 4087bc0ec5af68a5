//! The observations of a thread, and the other data by which it is judged.

use std::collections::BTreeSet;

use unjank_host::Nanos;
use unjank_host::address_space::FutexId;
use unjank_host::language_runtime::LanguageRuntime;
use unjank_host::program_code::CodeLocation;
use unjank_host::sched::{CpuSet, ThreadId};

/// One thread over the time that it was watched.
#[derive(Debug, Clone, PartialEq)]
pub struct ObservedThread {
    /// The thread number (TID).
    pub thread: ThreadId,
    /// Its name: untrusted text.
    pub name: String,
    /// The process that it belongs to.
    pub owner: Owner,
    /// Whether its policy is FIFO or round robin.
    pub realtime: bool,
    /// How long it was watched.
    pub watched: Nanos,
    /// CPU time.
    pub cpu: Nanos,
    /// CPU time outside the kernel, to the clock tick.
    pub user: Nanos,
    /// CPU time in the kernel, to the clock tick.
    pub system: Nanos,
    /// How long it was ready and did not run, if the kernel counts that.
    pub ready: Option<Nanos>,
    /// Number of times that it slept or waited.
    pub voluntary: u64,
    /// Number of times that it was preempted or yielded.
    pub involuntary: u64,
    /// The CPUs it may run on.
    pub cpus: CpuSet,
    /// Its system calls, if they were traced.
    pub calls: Option<Calls>,
    /// Samples of its code, if it was sampled.
    pub code: Option<Code>,
    /// Its state at single moments, if its calls were not traced.
    pub glances: Glances,
    /// Its part in taking turns, if it does so.
    pub turns: Option<Turns>,
    /// How often a second it and one other thread wake each other, if neither is
    /// woken mostly by others.
    pub partner: Option<f64>,
    /// How often a second processes of its own program woke it that are not
    /// watched.
    pub outsiders: f64,
    /// What it slept on, if it slept through the watch on what may be a lock.
    pub slept: Option<Slept>,
}

/// A wait without a time limit that lasted for the whole watch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Slept {
    /// For a mutex of the C library.
    Mutex {
        /// The thread that held it at the end.
        holder: ThreadId,
        /// Whether the holder waited for events, as the leader of a pool does.
        polls: bool,
        /// Number of threads that slept on it, this one included.
        waiters: usize,
    },
    /// On a futex that has the value of a contended lock.
    Lock {
        /// Number of threads that slept on it, this one included.
        waiters: usize,
    },
    /// On a futex of its own, as threads of a JVM do, together with others there.
    Jvm {
        /// Number of such threads in the process, this one included.
        threads: usize,
    },
}

/// What is known about the process of a thread.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Owner {
    /// The process number (PID).
    pub process: u32,
    /// The file name of its program: untrusted text.
    pub program: String,
    /// The language runtimes that it contains.
    pub runtimes: BTreeSet<LanguageRuntime>,
    /// Contended entries and exits of monitors a second, if a JVM counts them.
    pub monitors: Option<f64>,
    /// The looks at its title, for its first thread only, and only for programs
    /// whose title says that they wait.
    pub title: Option<Title>,
}

/// Looks at the title of a process.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Title {
    /// Number of looks.
    pub looks: u64,
    /// Looks at which the title said that the process waits for a lock.
    pub waiting: u64,
}

/// The part of one thread in a group whose threads wake each other, as threads do
/// that share a lock.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Turns {
    /// The size of the group, this thread included.
    pub members: usize,
    /// The share of the time in which it neither ran nor was ready.
    pub waiting: f64,
    /// Wake-ups by other threads, per second.
    pub woken: f64,
    /// The share of these wake-ups that came from the group.
    pub by_members: f64,
}

/// The states of a thread at single moments.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Glances {
    /// Number of moments.
    pub all: u64,
    /// Moments at which it slept in `nanosleep(2)` or a similar call.
    pub sleeps: u64,
    /// Moments at which it waited in a poll.
    pub polls: u64,
    /// Moments at which it waited on a futex.
    pub waits: u64,
}

/// System calls that wait or wake, in the windows that were traced.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Calls {
    /// Length of the traced windows.
    pub watched: Nanos,
    /// Calls of `sched_yield(2)`.
    pub yields: u64,
    /// Sleeps, polls and waits that timed out within [`Naps::LONGEST`].
    pub naps: Naps,
    /// Polls that found nothing and did not wait.
    pub empty_polls: u64,
    /// Waits on futexes.
    pub waits: Waits,
    /// Wake-ups of futexes.
    pub wakes: u64,
    /// The part of `wakes` that found no sleeper.
    pub nobody: u64,
    /// The futex that it waited on or woke most.
    pub busiest: Option<Futex>,
    /// The lock on which it waited longest.
    pub lock: Option<Futex>,
    /// The futex in shared memory on which it waited longest, of those that no other
    /// watched thread wakes.
    pub outside: Option<Futex>,
}

/// Short sleeps.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Naps {
    /// Sleeps in `nanosleep(2)` and similar calls.
    pub sleeps: u64,
    /// Polls with a time limit.
    pub polls: u64,
    /// Waits on a futex with a time limit.
    pub waits: u64,
    /// Sum of the lengths of all naps.
    pub time: Nanos,
}

/// Waits on futexes.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Waits {
    /// Waits that ended with a wake-up within the window.
    pub woken: u64,
    /// Sum of the lengths of all waits.
    pub time: Nanos,
    /// Waits that did not sleep, because the futex had changed already.
    pub changed: u64,
    /// Of `in_crowds`: those followed by a sleep on the same futex within
    /// [`Waits::AGAIN`].
    pub for_nothing: u64,
    /// The part of `woken` that a call for several threads woke.
    pub in_crowds: u64,
}

/// A futex, with counts over all threads and of one of them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Futex {
    /// Its identity across processes.
    pub id: FutexId,
    /// The variable that contains it, if the program's symbols name one.
    pub name: Option<String>,
    /// Number of threads that used it.
    pub threads: usize,
    /// Whether at least two threads both waited on it and woke it, as threads do
    /// that share a lock.
    pub is_lock: bool,
    /// Median of the waits on it that ended with a wake-up.
    pub wait: Option<Nanos>,
    /// The most threads that one call woke.
    pub crowd: u64,
    /// How often this thread waited on it, including waits that did not sleep.
    pub waits: u64,
    /// Sum of the lengths of these waits.
    pub waited: Nanos,
}

/// Samples of the code that a thread executed.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Code {
    /// Number of samples.
    pub samples: u64,
    /// Number of 64-byte lines that hold nine tenths of the samples.
    pub lines: usize,
    /// Whether these lines contain a pause instruction; `None` if they could not be
    /// read.
    pub pauses: Option<bool>,
    /// The most frequent address.
    pub place: Option<CodeLocation>,
    /// Of the functions that wait for locks: the most frequent one, and the share of
    /// samples in all of them.
    pub lock: Option<(String, f64)>,
}

/// The other threads of the process.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct OtherThreads {
    /// Threads that were ready for a fifth of the time or more, and did not run.
    pub runnable: usize,
    /// Threads that hardly ran.
    pub idle: usize,
    /// Threads that may only run on the same single CPU as this one.
    pub same_cpu: usize,
}

/// The costs of waiting on this machine.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Prices {
    /// CPU time of one `sched_yield`.
    pub yielding: Nanos,
    /// CPU time of one `sched_yield` of a traced thread.
    pub traced: Nanos,
    /// One futex wake without a sleeper.
    pub wake_nobody: Nanos,
    /// Time from the wake-up call until a parked thread runs.
    pub park: Nanos,
}

impl Naps {
    /// A sleep of 2 ms, with what the kernel adds.
    pub const LONGEST: Nanos = Nanos::from_micros(2_500);

    /// The number of all naps.
    pub fn count(&self) -> u64 {
        self.sleeps + self.polls + self.waits
    }
}

impl Waits {
    /// A thread that sleeps again this soon has found little to do.
    pub const AGAIN: Nanos = Nanos::from_micros(500);
}

/// Contended entries and exits of monitors a second from which threads of a JVM
/// that wake each other are taken to contend for a monitor.
const MONITORS: f64 = 5.0;
/// Name prefixes of HotSpot's own threads, which wake each other for other
/// reasons.
const HOTSPOT_THREADS: [&str; 8] =
    ["GC Thread", "G1 ", "VM ", "C1 Comp", "C2 Comp", "ZDriver", "ZWorker", "Shenandoah"];
/// The beginnings of names of threads that wait for work of the Java library or of HotSpot, and run
/// no code of the program.
const JAVA_LIBRARY_THREADS: [&str; 8] = [
    "Reference Handl",
    "Finalizer",
    "Signal Dispatch",
    "Service Thread",
    "Notification Th",
    "Common-Cleaner",
    "Sweeper",
    "Monitor Deflati",
];

impl ObservedThread {
    /// Contended entries and exits of monitors a second, if there are enough and
    /// this may be a thread that causes them.
    pub(super) fn contended_monitors(&self) -> Option<f64> {
        self.owner.monitors.filter(|rate| self.runs_java() && *rate >= MONITORS)
    }

    /// Whether it is a thread of a JVM that runs the program's code.
    pub(super) fn runs_the_programs_java(&self) -> bool {
        // The first thread waits for the end of the one that runs `main`.
        let is_first = self.thread.0 == self.owner.process;
        let is_the_librarys = JAVA_LIBRARY_THREADS.iter().any(|own| self.name.starts_with(own));
        self.is_of(LanguageRuntime::HotSpot) && self.runs_java() && !is_first && !is_the_librarys
    }

    /// Whether it may run Java code, in a JVM.
    pub(super) fn runs_java(&self) -> bool {
        !HOTSPOT_THREADS.iter().any(|own| self.name.starts_with(own))
    }

    /// Whether it is one of the threads of a JVM that run virtual threads: JEP 444.
    /// Another `ForkJoinPool` may have the same name.
    pub(super) fn runs_virtual_threads(&self) -> bool {
        let named =
            ["VirtualThread-", "ForkJoinPool-1-"].iter().any(|it| self.name.starts_with(it));
        named && self.is_of(LanguageRuntime::HotSpot)
    }

    /// A thread without observations.
    pub fn new(thread: ThreadId, name: impl Into<String>) -> Self {
        Self {
            thread,
            name: name.into(),
            owner: Owner::default(),
            realtime: false,
            watched: Nanos::ZERO,
            cpu: Nanos::ZERO,
            user: Nanos::ZERO,
            system: Nanos::ZERO,
            ready: None,
            voluntary: 0,
            involuntary: 0,
            cpus: CpuSet::default(),
            calls: None,
            code: None,
            glances: Glances::default(),
            turns: None,
            partner: None,
            outsiders: 0.0,
            slept: None,
        }
    }

    /// The share of a CPU that it used.
    pub fn cpu_share(&self) -> f64 {
        share(self.cpu, self.watched)
    }

    /// The share of its CPU time outside the kernel; `None` for too little CPU time.
    pub fn user_part(&self) -> Option<f64> {
        let all = self.user + self.system;
        (all >= ENOUGH).then(|| share(self.user, all))
    }

    /// The share of its time that it slept. Time in which it waited for a CPU does not count,
    /// because that would hide sleep on a busy machine. If nearly all its time was such time,
    /// the rest is too little to divide, and the share is 0.
    pub fn waiting_share(&self) -> f64 {
        let asleep = self.watched - self.cpu - self.ready.unwrap_or_default();
        let free = asleep + self.cpu;
        if share(free, self.watched) < LEAST_FREE { 0.0 } else { share(asleep, free) }
    }

    /// Whether its process contains this runtime.
    pub fn is_of(&self, runtime: LanguageRuntime) -> bool {
        self.owner.runtimes.contains(&runtime)
    }

    /// The share of the time in which it was ready and did not run.
    pub fn ready_share(&self) -> Option<f64> {
        self.ready.map(|ready| share(ready, self.watched))
    }
}

/// The least share of its time in which a thread does not wait for a CPU, for a division by it.
const LEAST_FREE: f64 = 0.05;
/// Twenty clock ticks of 10 ms: the least CPU time that is divided.
const ENOUGH: Nanos = Nanos::from_millis(200);

/// `part / whole`, or 0 if `whole` is zero.
pub(crate) fn share(part: Nanos, whole: Nanos) -> f64 {
    if whole == Nanos::ZERO { 0.0 } else { part.get() as f64 / whole.get() as f64 }
}

/// `part / whole`, or 0 if both are zero.
pub(crate) fn share_of(part: u64, whole: u64) -> f64 {
    part as f64 / whole.max(1) as f64
}

/// Events a second, or 0 if `time` is zero.
pub(crate) fn rate(events: u64, time: Nanos) -> f64 {
    if time == Nanos::ZERO { 0.0 } else { events as f64 / time.as_secs_f64() }
}
