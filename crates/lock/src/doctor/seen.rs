//! What was seen of a thread, and what it is judged beside.

use std::collections::BTreeSet;

use unjank_host::Nanos;
use unjank_host::address_space::FutexId;
use unjank_host::language_runtime::LanguageRuntime;
use unjank_host::program_code::CodeLocation;
use unjank_host::sched::{CpuSet, ThreadId};

/// One thread over the time that it was watched.
#[derive(Debug, Clone, PartialEq)]
pub struct Seen {
    /// Its number.
    pub thread: ThreadId,
    /// Its name, which may hold anything.
    pub name: String,
    /// The process that it belongs to.
    pub owner: Owner,
    /// Whether its policy is FIFO or round robin.
    pub realtime: bool,
    /// For how long it was watched.
    pub watched: Nanos,
    /// CPU time.
    pub cpu: Nanos,
    /// CPU time outside the kernel, to the clock tick.
    pub user: Nanos,
    /// CPU time in the kernel, to the clock tick.
    pub system: Nanos,
    /// How long it was ready and did not run, where the kernel counts that.
    pub ready: Option<Nanos>,
    /// How often it slept or waited.
    pub voluntary: u64,
    /// How often it lost the CPU while it could have run on.
    pub involuntary: u64,
    /// The CPUs it may run on.
    pub cpus: CpuSet,
    /// Its system calls, where they were traced.
    pub calls: Option<Calls>,
    /// Where its instructions were, where they were sampled.
    pub code: Option<Code>,
    /// What it was doing at single moments, where its calls were not traced.
    pub glances: Glances,
    /// Who wakes it, if it takes turns with others.
    pub turns: Option<Turns>,
}

/// A process, as far as it bears on how its threads wait.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Owner {
    /// Its number.
    pub process: u32,
    /// The name of its program's file, which may hold anything.
    pub program: String,
    /// What runs its threads.
    pub runtimes: BTreeSet<LanguageRuntime>,
    /// Entries of monitors a second that found them taken, where a JVM counts
    /// these.
    pub monitors: Option<f64>,
    /// What its title said: for its first thread only, and only where a
    /// process's title says for what it waits.
    pub title: Option<Title>,
}

/// What the title of a process said when it was looked at.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Title {
    /// How many looks there were.
    pub looks: u64,
    /// In how many of them it said that the process waits for a lock.
    pub waiting: u64,
}

/// A thread among others that wake each other, as those do that share a lock.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Turns {
    /// How many of them there are, itself included.
    pub members: usize,
    /// The share of the time in which it neither ran nor was ready.
    pub waiting: f64,
    /// How often a second another thread woke it.
    pub woken: f64,
    /// Which part of these wake-ups came from members.
    pub by_members: f64,
}

/// What a thread was doing at single moments.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Glances {
    /// How many moments.
    pub all: u64,
    /// In how many of them it slept in `nanosleep(2)` and its kin.
    pub sleeps: u64,
    /// In how many it waited in a poll.
    pub polls: u64,
    /// In how many it waited on a futex.
    pub waits: u64,
}

/// System calls that wait or wake, in the windows that were traced.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Calls {
    /// The length of these windows.
    pub watched: Nanos,
    /// Calls of `sched_yield(2)`.
    pub yields: u64,
    /// Waits that ended because their time was up, within [`Naps::LONGEST`].
    pub naps: Naps,
    /// Polls that found nothing and did not wait.
    pub empty_polls: u64,
    /// Waits on futexes.
    pub waits: Waits,
    /// Wake-ups of futexes.
    pub wakes: u64,
    /// Of these, those that nobody waited for.
    pub nobody: u64,
    /// The futex that it waited on or woke most.
    pub busiest: Option<Futex>,
    /// Of those that are locks, the one on which it waited longest.
    pub lock: Option<Futex>,
}

/// Short sleeps.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Naps {
    /// By `nanosleep(2)` and its kin.
    pub sleeps: u64,
    /// By a poll with a time limit.
    pub polls: u64,
    /// By a wait on a futex with a time limit.
    pub waits: u64,
    /// How long all of them took together.
    pub time: Nanos,
}

/// Waits on futexes.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Waits {
    /// Those that ended with a wake-up, and were seen from begin to end.
    pub woken: u64,
    /// How long these took together.
    pub time: Nanos,
    /// Those that did not sleep, because the futex had changed meanwhile.
    pub changed: u64,
    /// Of the woken: those woken by a call that woke several at once, and
    /// asleep on the same futex again within [`Waits::AGAIN`].
    pub for_nothing: u64,
    /// Of the woken: those woken by a call that woke several at once.
    pub in_crowds: u64,
}

/// A futex, over all threads, and what one of them did on it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Futex {
    /// Which one it is.
    pub id: FutexId,
    /// The variable that it lies in, where the program's symbols tell.
    pub name: Option<String>,
    /// How many threads used it.
    pub threads: usize,
    /// Whether at least two threads both waited on it and woke it, as those
    /// that share a lock do.
    pub is_lock: bool,
    /// The median wait on it that ended with a wake-up, if there was any.
    pub wait: Option<Nanos>,
    /// The most threads that one call woke.
    pub crowd: u64,
    /// How often this thread waited on it, or would have.
    pub waits: u64,
    /// How long these waits took together.
    pub waited: Nanos,
}

/// Where instructions were.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Code {
    /// How many samples there are.
    pub samples: u64,
    /// How many lines of 64 bytes hold nine tenths of them.
    pub lines: usize,
    /// Whether an instruction for spinning is among these lines, where they
    /// could be read.
    pub pauses: Option<bool>,
    /// Where most of them lie.
    pub place: Option<CodeLocation>,
    /// The function that waits for a lock with most of the samples in such
    /// functions, and the share of all of them.
    pub lock: Option<(String, f64)>,
}

/// What else the process and the machine do meanwhile.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Around {
    /// Other threads of the process that were ready for a fifth of the time
    /// or more, and did not run.
    pub hungry: usize,
    /// Other threads of the process that hardly ran.
    pub idle: usize,
    /// Other threads of the process that may run on the same single CPU only.
    pub same_cpu: usize,
}

/// What waiting costs on this machine.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Prices {
    /// CPU time of one `sched_yield`.
    pub yielding: Nanos,
    /// The same for a thread whose system calls are traced.
    pub traced: Nanos,
    /// One futex wake without a sleeper.
    pub wake_nobody: Nanos,
    /// From the wake-up call until a parked thread runs.
    pub park: Nanos,
}

impl Naps {
    /// A sleep of 2 ms, with what the kernel adds.
    pub const LONGEST: Nanos = Nanos::from_micros(2_500);

    /// All of them.
    pub fn count(&self) -> u64 {
        self.sleeps + self.polls + self.waits
    }
}

impl Waits {
    /// A thread that sleeps again so soon has found little to do.
    pub const AGAIN: Nanos = Nanos::from_micros(500);
}

/// With so many contended entries and exits of monitors a second, threads of a
/// JVM that wake each other do so for a monitor.
const MONITORS: f64 = 5.0;
/// How the names of threads begin that HotSpot has for itself and that wake
/// each other for other things.
const HOTSPOTS_OWN: [&str; 8] =
    ["GC Thread", "G1 ", "VM ", "C1 Comp", "C2 Comp", "ZDriver", "ZWorker", "Shenandoah"];

impl Seen {
    /// Contended entries and exits of monitors a second, where there are enough
    /// of them and this may be one of the threads that make them.
    pub(super) fn contended_monitors(&self) -> Option<f64> {
        let runs_java = !HOTSPOTS_OWN.iter().any(|own| self.name.starts_with(own));
        self.owner.monitors.filter(|rate| runs_java && *rate >= MONITORS)
    }

    /// A thread of which nothing has been seen yet.
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
        }
    }

    /// Its share of a CPU.
    pub fn cpu_share(&self) -> f64 {
        share(self.cpu, self.watched)
    }

    /// Which part of its CPU time was outside the kernel; `None` for too little
    /// of it to tell.
    pub fn user_part(&self) -> Option<f64> {
        let all = self.user + self.system;
        (all >= ENOUGH).then(|| share(self.user, all))
    }

    /// The share of the time in which it neither ran nor was ready to.
    pub fn waiting_share(&self) -> f64 {
        (1.0 - self.cpu_share() - self.ready_share().unwrap_or(0.0)).clamp(0.0, 1.0)
    }

    /// Whether its process is one of this runtime.
    pub fn is_of(&self, runtime: LanguageRuntime) -> bool {
        self.owner.runtimes.contains(&runtime)
    }

    /// The share of the time in which it was ready and did not run.
    pub fn ready_share(&self) -> Option<f64> {
        self.ready.map(|ready| share(ready, self.watched))
    }
}

/// Twenty clock ticks of 10 ms: less CPU time cannot be divided.
const ENOUGH: Nanos = Nanos::from_millis(200);

/// A part of a length of time; zero of nothing.
pub(crate) fn share(part: Nanos, whole: Nanos) -> f64 {
    if whole == Nanos::ZERO { 0.0 } else { part.get() as f64 / whole.get() as f64 }
}

/// A part of a number; zero of nothing.
pub(crate) fn share_of(part: u64, whole: u64) -> f64 {
    part as f64 / whole.max(1) as f64
}

/// Events a second; none in no time.
pub(crate) fn rate(events: u64, time: Nanos) -> f64 {
    if time == Nanos::ZERO { 0.0 } else { events as f64 / time.as_secs_f64() }
}
