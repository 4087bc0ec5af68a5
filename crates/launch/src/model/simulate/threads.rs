//! The threads of a simulation: their steps and their CPUs.
//!
//! A thread that wakes goes to the CPU it had if that is idle, else to an idle
//! one, else to the one with the fewest threads. Threads of one CPU share it
//! evenly. A CPU that goes idle takes a thread from one that has several.

use unjank_host::Nanos;

use crate::model::governor::{NEVER, TaskChange};
use crate::model::profile::{Begins, Profile, Step, Task};

pub(super) struct Threads<'a> {
    all: Vec<Thread<'a>>,
    /// The number of runnable threads of each CPU.
    runnable: Vec<u32>,
    /// Threads of the launch that have not ended.
    launching: usize,
    /// The highest frequency, in kilohertz.
    fastest: u64,
}

struct Thread<'a> {
    task: &'a Task,
    step: usize,
    rounds: u32,
    cpu: usize,
    deadline: Nanos,
    state: State,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum State {
    /// Nanoseconds times kilohertz to go: a million times the cycles.
    Running(u64),
    /// Nanoseconds to go, at any clock.
    Timed(u64),
    Asleep(Nanos),
    Ended,
}

impl<'a> Threads<'a> {
    pub(super) fn new(profile: &'a Profile, cpus: usize, begins: Nanos, fastest: u64) -> Self {
        let mut all = Vec::with_capacity(profile.threads());
        let mut launching = 0;
        for task in &profile.tasks {
            let from = match task.begins {
                Begins::AtStart => Nanos::ZERO,
                Begins::AtLaunch => begins,
            } + task.delay;
            for _ in 0..task.threads {
                launching += usize::from(task.begins == Begins::AtLaunch && task.times.is_some());
                all.push(Thread {
                    task,
                    step: 0,
                    rounds: 0,
                    cpu: all.len() % cpus,
                    deadline: from,
                    state: State::Asleep(from),
                });
            }
        }
        Self { all, runnable: vec![0; cpus], launching, fastest }
    }

    pub(super) fn launch_is_over(&self) -> bool {
        self.launching == 0
    }

    /// When the next thread finishes its step, at the frequency `khz` of each
    /// CPU.
    pub(super) fn next(&self, now: Nanos, khz: impl Fn(usize) -> u32) -> Nanos {
        let done = |thread: &Thread<'_>| {
            let runnable = u64::from(self.runnable[thread.cpu].max(1));
            match thread.state {
                State::Running(left) => {
                    now + Nanos(left.saturating_mul(runnable).div_ceil(u64::from(khz(thread.cpu))))
                }
                State::Timed(left) => now + Nanos(left.saturating_mul(runnable)),
                State::Asleep(until) => until,
                State::Ended => NEVER,
            }
        };
        self.all.iter().map(done).min().unwrap_or(NEVER)
    }

    pub(super) fn advance(&mut self, passed: Nanos, khz: impl Fn(usize) -> u32) {
        for thread in &mut self.all {
            let runnable = u64::from(self.runnable[thread.cpu].max(1));
            match &mut thread.state {
                State::Running(left) => {
                    let work = passed.0 * u64::from(khz(thread.cpu)) / runnable;
                    *left = left.saturating_sub(work);
                }
                State::Timed(left) => *left = left.saturating_sub(passed.0 / runnable),
                State::Asleep(_) | State::Ended => {}
            }
        }
    }

    /// Makes the next change of a CPU's threads at `now`; `None` if there is none.
    pub(super) fn change(&mut self, now: Nanos) -> Option<(usize, TaskChange)> {
        for index in 0..self.all.len() {
            let state = self.all[index].state;
            match state {
                State::Running(0) | State::Timed(0) => {
                    let cpu = self.all[index].cpu;
                    if !self.go_on(index, now) {
                        self.runnable[cpu] -= 1;
                        return Some((cpu, TaskChange::Left(self.runnable[cpu])));
                    }
                }
                State::Asleep(until) if until <= now && self.go_on(index, now) => {
                    let cpu = self.place(index);
                    self.all[index].cpu = cpu;
                    self.runnable[cpu] += 1;
                    return Some((cpu, TaskChange::Came(self.runnable[cpu])));
                }
                _ => {}
            }
        }
        self.balance()
    }

    /// Advances the thread to its next step that takes time; returns whether it computes.
    fn go_on(&mut self, index: usize, now: Nanos) -> bool {
        let fastest = self.fastest;
        let thread = &mut self.all[index];
        loop {
            if thread.step == thread.task.steps.len() {
                thread.step = 0;
                thread.rounds = thread.rounds.saturating_add(1);
            }
            if thread.task.times.is_some_and(|times| thread.rounds >= times) {
                thread.state = State::Ended;
                let counts = thread.task.begins == Begins::AtLaunch;
                self.launching -= usize::from(counts);
                return false;
            }
            let step = thread.task.steps[thread.step];
            thread.step += 1;
            match step {
                Step::Run(Nanos(0)) | Step::Runtime(Nanos(0)) | Step::Sleep(Nanos(0)) => {}
                Step::Run(length) => {
                    thread.state = State::Running(length.0.saturating_mul(fastest));
                    return true;
                }
                Step::Runtime(length) => {
                    thread.state = State::Timed(length.0);
                    return true;
                }
                Step::Sleep(length) => {
                    thread.state = State::Asleep(now + length);
                    return false;
                }
                Step::Timer(period) => {
                    thread.deadline = thread.deadline + period;
                    if thread.deadline > now {
                        thread.state = State::Asleep(thread.deadline);
                        return false;
                    }
                    // Too late: it continues at once, and counts from here.
                    thread.deadline = now;
                }
            }
        }
    }

    fn place(&self, index: usize) -> usize {
        let before = self.all[index].cpu;
        if self.runnable[before] == 0 {
            return before;
        }
        let cpus = 0..self.runnable.len();
        cpus.min_by_key(|cpu| (self.runnable[*cpu], *cpu != before)).unwrap_or(before)
    }

    /// Moves one thread from a CPU with several to an idle one.
    fn balance(&mut self) -> Option<(usize, TaskChange)> {
        let idle = self.runnable.iter().position(|runnable| *runnable == 0)?;
        let shared = self.runnable.iter().position(|runnable| *runnable > 1)?;
        let moves = self.all.iter_mut().rfind(|thread| {
            thread.cpu == shared && matches!(thread.state, State::Running(_) | State::Timed(_))
        })?;
        moves.cpu = idle;
        self.runnable[shared] -= 1;
        self.runnable[idle] += 1;
        // The other CPU stays busy: only the idle one's change matters.
        Some((idle, TaskChange::Came(1)))
    }
}
