//! The same history with other lengths: when would the window have ended?
//!
//! The spans of all threads are replayed in order of time. A thread begins a span
//! when its previous span has ended. A wait ends when it has begun and its waker
//! has reached the wake-up. So the end is the longest path over all wake-ups, not
//! only over those that were critical: when one thing gets faster, the next
//! longest path takes over.
//!
//! The graph itself stays as recorded. Timeouts that would no longer happen, work
//! that another thread would take over, and waits that only a faster thread would
//! meet are not modelled.

use std::collections::{BTreeSet, HashMap};

use unjank_host::Timestamp;
use unjank_host::sched::ThreadId;
use unjank_host::tracefs::{Occupant, Trace};
use unjank_units::Nanos;

use crate::history::{Cause, History, Origin, Span, State, Wait, Wake};
use crate::split::{HighestClocks, clock_loss};

/// What is changed.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Change {
    /// Computing takes as long as at the highest clock.
    pub highest_clock: bool,
    /// What a thread reads from storage, by a page fault or a system call, is in
    /// memory: the time of such a read.
    pub cached: Option<Nanos>,
    /// These threads never wait while another thread has their CPU.
    pub boosted: BTreeSet<ThreadId>,
    /// From the wake-up to the run of a thread that waited in a futex.
    pub lock_handover: Option<Nanos>,
}

/// What is replayed.
#[derive(Debug, Clone, Copy)]
pub struct Window<'a> {
    /// The recording.
    pub trace: &'a Trace,
    /// What all threads did in it.
    pub history: &'a History,
    /// The highest clocks of the machine.
    pub highest: &'a HighestClocks,
    /// The explained program, which is the cause of what comes to it from outside.
    pub family: &'a BTreeSet<ThreadId>,
    /// The thread whose progress counts.
    pub thread: ThreadId,
    /// The begin of the window.
    pub from: Timestamp,
    /// Its end.
    pub to: Timestamp,
}

/// The steps of a window, for any number of replays.
#[derive(Debug)]
pub struct Replays<'a> {
    window: Window<'a>,
    steps: Vec<Step>,
}

impl<'a> Replays<'a> {
    /// Puts everything that happened in the window in order.
    pub fn of(window: Window<'a>) -> Self {
        Self { window, steps: steps(window.history, window.from, window.to) }
    }

    /// When the thread would have reached the end of the window, counted from its
    /// begin, if `change` had been made. Without a change: the length of the
    /// window.
    pub fn length(&self, change: &Change) -> Nanos {
        let Window { thread, from, to, .. } = self.window;
        let mut replay = Replay { window: self.window, change, threads: HashMap::new() };
        for step in &self.steps {
            match step.what {
                What::Begins(span) => {
                    replay.enter(step.thread, &span, step.at.since(from).get() as f64);
                }
                What::Born(span, parent) => {
                    let born = replay.moment(parent, step.at);
                    let born = born.unwrap_or(step.at.since(from).get() as f64);
                    replay.enter(step.thread, &span, born);
                }
                What::Ends(span) if step.thread == thread && span.to >= to => {
                    let end = replay.moment(thread, to).unwrap_or(0.0);
                    return Nanos(end.round() as u64);
                }
                What::Ends(span) => replay.leave(step.thread, &span),
            }
        }
        // It ended before: its last moment counts.
        let last = replay.threads.get(&thread).and_then(|positions| positions.last());
        Nanos(last.map_or(0.0, |position| position.changed_from).round() as u64)
    }
}

/// A span of a thread after the change.
#[derive(Debug, Clone, Copy)]
struct Position {
    /// The begin of the span in the trace.
    from: Timestamp,
    /// The begin of the span after the change.
    changed_from: f64,
    /// Changed nanoseconds for each nanosecond of the trace.
    scale: f64,
}

impl Position {
    fn at(&self, moment: Timestamp) -> f64 {
        self.changed_from + moment.since(self.from).get() as f64 * self.scale
    }
}

/// What a thread does at a moment of the trace.
#[derive(Debug)]
struct Step {
    at: Timestamp,
    thread: ThreadId,
    what: What,
}

#[derive(Debug, Clone, Copy)]
enum What {
    /// The window begins in this span of it.
    Begins(Span),
    /// Its parent creates it; its first span.
    Born(Span, ThreadId),
    /// It ends this span.
    Ends(Span),
}

/// All steps in a window, in an order in which each comes after those that it
/// depends on: a wait ends, and a thread is born, while its waker or parent is
/// in a span that has begun and not ended.
fn steps(history: &History, begin: Timestamp, end: Timestamp) -> Vec<Step> {
    let mut steps = Vec::new();
    for (thread, life) in history.lives() {
        let first = life.spans.partition_point(|span| span.to <= begin);
        let within = life.spans.iter().skip(first).take_while(|span| span.from < end);
        let cut = |span: &Span| Span { from: span.from.max(begin), ..*span };
        for (index, span) in within.map(cut).enumerate() {
            if index == 0 {
                let birth = life.birth.filter(|birth| first == 0 && birth.at >= begin);
                let what = match birth {
                    Some(birth) => What::Born(span, birth.parent),
                    None => What::Begins(span),
                };
                steps.push(Step { at: span.from, thread, what });
            }
            steps.push(Step { at: span.to, thread, what: What::Ends(span) });
        }
    }
    let rank = |what: &What| match what {
        What::Begins(span) => (0, span.from),
        What::Born(span, _) => (1, span.from),
        What::Ends(span) => (2, span.from),
    };
    steps.sort_by_key(|step| (step.at, rank(&step.what), step.thread.0));
    steps
}

struct Replay<'a> {
    window: Window<'a>,
    change: &'a Change,
    /// The spans of each thread so far: wake-ups may lead back to earlier ones.
    threads: HashMap<ThreadId, Vec<Position>>,
}

impl Replay<'_> {
    /// A thread begins a span at a changed moment.
    fn enter(&mut self, thread: ThreadId, span: &Span, changed_from: f64) {
        let scale = self.scale(thread, span);
        let position = Position { from: span.from, changed_from, scale };
        self.threads.entry(thread).or_default().push(position);
    }

    /// A thread ends a span, and begins its next.
    fn leave(&mut self, thread: ThreadId, span: &Span) {
        let position = self.threads.get(&thread).and_then(|positions| positions.last());
        let Some(position) = position.copied() else { return };
        let changed_to = match span.state {
            State::Asleep { wait, wake } => self.woken(thread, &position, wait, wake, span),
            State::Running { .. } | State::Ready { .. } => position.at(span.to),
        };
        let next = self.window.history.life(thread, span.from).and_then(|life| {
            let index = life.spans.partition_point(|other| other.from < span.to);
            life.spans.get(index).filter(|next| next.from == span.to)
        });
        if let Some(next) = next {
            self.enter(thread, next, changed_to);
        } else {
            let stays = Position { from: span.to, changed_from: changed_to, scale: 1.0 };
            self.threads.entry(thread).or_default().push(stays);
        }
    }

    /// Changed nanoseconds for each nanosecond of a span.
    fn scale(&self, thread: ThreadId, span: &Span) -> f64 {
        let length = (span.to.since(span.from).get() as f64).max(1.0);
        match span.state {
            State::Running { cpu } if self.change.highest_clock => {
                let Window { history, highest, .. } = self.window;
                let loss = clock_loss(cpu, (span.from, span.to), history, highest);
                1.0 - loss.get() as f64 / length
            }
            State::Running { .. } | State::Asleep { .. } => 1.0,
            State::Ready { cpu } => {
                let handover = self.change.lock_handover.filter(|_| self.after_futex(thread, span));
                if self.change.boosted.contains(&thread) {
                    1.0 - self.behind_others(cpu, span).get() as f64 / length
                } else if let Some(handover) = handover {
                    (handover.get() as f64 / length).min(1.0)
                } else {
                    1.0
                }
            }
        }
    }

    /// How long a thread that is not boosted had the CPU in a span.
    fn behind_others(&self, cpu: usize, span: &Span) -> Nanos {
        let Some(cpu) = self.window.trace.cpu(cpu) else { return Nanos::ZERO };
        let boosted = &self.change.boosted;
        let others = cpu.between(span.from, span.to).into_iter().filter(
            |stretch| matches!(stretch.who, Occupant::Thread(task) if !boosted.contains(&task.tid)),
        );
        others.fold(Nanos::ZERO, |sum, stretch| sum + stretch.to.since(stretch.from))
    }

    /// Whether the wait before this span was in a futex.
    fn after_futex(&self, thread: ThreadId, span: &Span) -> bool {
        let life = self.window.history.life(thread, span.from);
        let before = life.and_then(|life| life.before(span.from));
        before.is_some_and(|before| match before.state {
            State::Asleep { wait: Wait::Call { number, .. }, .. } => crate::path::is_futex(number),
            _ => false,
        })
    }

    /// The changed end of a wait of `thread`.
    fn woken(
        &self,
        thread: ThreadId,
        position: &Position,
        wait: Wait,
        wake: Option<Wake>,
        span: &Span,
    ) -> f64 {
        let slept = position.changed_from;
        let length = span.to.since(span.from).get() as f64;
        let Some(wake) = wake else { return slept + length };
        if let Some(hit) = self.change.cached.filter(|_| self.is_read(wait, wake.by)) {
            return slept + (hit.get() as f64).min(length);
        }
        match wake.by {
            Origin::Thread(waker) => {
                let woken = self.moment(waker, wake.at);
                slept.max(woken.unwrap_or(wake.at.since(self.window.from).get() as f64))
            }
            Origin::Interrupt(Cause::Timer) => slept + length,
            Origin::Interrupt(Cause::Storage(id)) => match self.window.history.request(id) {
                Some(request) => {
                    let served = wake.at.since(request.issued).get() as f64;
                    slept.max(self.caused(thread, request.by, request.issued) + served)
                }
                None => slept + length,
            },
            Origin::Interrupt(_) => slept.max(self.caused(thread, wake.by, wake.at)),
        }
    }

    /// Whether a wait ended because something had been read from storage: by an
    /// interrupt, or by the thread of the kernel that decrypts or assembles it.
    fn is_read(&self, wait: Wait, by: Origin) -> bool {
        let is_fault = matches!(wait, Wait::Fault { .. });
        match by {
            Origin::Interrupt(Cause::Storage(id)) => {
                let request = self.window.history.request(id);
                is_fault
                    || request.is_some_and(|request| {
                        request.asked.letters.as_bytes().first() == Some(&b'R')
                    })
            }
            Origin::Interrupt(Cause::Timer) => false,
            Origin::Interrupt(_) => is_fault,
            Origin::Thread(waker) => is_fault && self.window.history.is_kernel(waker),
        }
    }

    /// The changed moment of something that `origin` did for `sleeper`. What comes
    /// from outside keeps its distance to the program, which is taken to have
    /// asked for it.
    fn caused(&self, sleeper: ThreadId, origin: Origin, at: Timestamp) -> f64 {
        let moment = match origin {
            Origin::Thread(thread) => self.moment(thread, at),
            Origin::Interrupt(_) => {
                let asked = if self.window.family.contains(&sleeper) {
                    sleeper
                } else {
                    self.window.thread
                };
                self.position(asked, at).map(|it| it.changed_from + at.since(it.from).get() as f64)
            }
        };
        moment.unwrap_or(at.since(self.window.from).get() as f64)
    }

    /// The changed moment of something that a thread did; `None` if it did nothing
    /// in the window. What it did before keeps its distance to its first span.
    fn moment(&self, thread: ThreadId, at: Timestamp) -> Option<f64> {
        let first = self.threads.get(&thread)?.first()?;
        if at < first.from {
            return Some(first.changed_from - first.from.since(at).get() as f64);
        }
        self.position(thread, at).map(|position| position.at(at))
    }

    /// The span of a thread at a moment, its first one if that comes later.
    fn position(&self, thread: ThreadId, at: Timestamp) -> Option<&Position> {
        let positions = self.threads.get(&thread)?;
        let begun = positions.partition_point(|position| position.from <= at);
        positions.get(begun.saturating_sub(1))
    }
}

#[cfg(test)]
mod tests;
