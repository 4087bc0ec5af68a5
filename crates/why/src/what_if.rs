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

use std::collections::HashMap;

use unjank_host::Timestamp;
use unjank_host::sched::ThreadId;
use unjank_units::Nanos;

use crate::history::{Cause, History, Origin, Span, State, Wait, Wake};
use crate::split::{HighestClocks, clock_loss};

/// What is changed.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Change {
    /// Computing takes as long as at the highest clock.
    pub highest_clock: bool,
    /// A page that a thread touches comes from memory: its time, instead of
    /// that of storage.
    pub page_hit: Option<Nanos>,
    /// A thread that is ready has a CPU at once.
    pub no_run_queue: bool,
    /// From the wake-up to the run of a thread that waited in a futex.
    pub lock_handover: Option<Nanos>,
}

/// Where a thread is: its present span.
#[derive(Debug, Clone, Copy)]
struct Position {
    /// The begin of the span in the trace.
    from: Timestamp,
    /// The begin of the span after the change.
    changed_from: f64,
    /// Changed nanoseconds for each nanosecond of the trace, where it runs.
    scale: f64,
}

impl Position {
    fn at(&self, moment: Timestamp) -> f64 {
        self.changed_from + moment.since(self.from).get() as f64 * self.scale
    }
}

/// When `thread` would have reached `end`, counted from `begin`, if `change`
/// had been made. Without a change: the length of the window.
pub fn length(
    history: &History,
    (thread, begin, end): (ThreadId, Timestamp, Timestamp),
    change: &Change,
    highest: &HighestClocks,
) -> Nanos {
    let threads = HashMap::new();
    let mut replay = Replay { history, explained: thread, begin, change, highest, threads };
    for step in steps(history, begin, end) {
        match step.what {
            What::Begins(span) => {
                replay.enter(step.thread, span, step.at.since(begin).get() as f64);
            }
            What::Born(span, parent) => {
                let born = replay.threads.get(&parent).map(|parent| parent.at(step.at));
                let born = born.unwrap_or(step.at.since(begin).get() as f64);
                replay.enter(step.thread, span, born);
            }
            What::Ends(span) if step.thread == thread && span.to >= end => {
                let position = replay.threads.get(&thread);
                return Nanos(position.map_or(0.0, |position| position.at(end)).round() as u64);
            }
            What::Ends(span) => replay.leave(step.thread, &span),
        }
    }
    // It ended before: its last moment counts.
    let last = replay.threads.get(&thread).map_or(0.0, |position| position.changed_from);
    Nanos(last.round() as u64)
}

/// What a thread does at a moment of the trace.
struct Step {
    at: Timestamp,
    thread: ThreadId,
    what: What,
}

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
    history: &'a History,
    explained: ThreadId,
    begin: Timestamp,
    change: &'a Change,
    highest: &'a HighestClocks,
    threads: HashMap<ThreadId, Position>,
}

impl Replay<'_> {
    /// A thread begins a span at a changed moment.
    fn enter(&mut self, thread: ThreadId, span: Span, changed_from: f64) {
        let scale = self.scale(thread, &span);
        self.threads.insert(thread, Position { from: span.from, changed_from, scale });
    }

    /// A thread ends a span, and begins its next.
    fn leave(&mut self, thread: ThreadId, span: &Span) {
        let Some(position) = self.threads.get(&thread).copied() else { return };
        let changed_to = match span.state {
            State::Asleep { wait, wake } => self.woken(&position, wait, wake, span),
            State::Running { .. } | State::Ready { .. } => position.at(span.to),
        };
        let next = self.history.life(thread, span.from).and_then(|life| {
            let index = life.spans.partition_point(|other| other.from < span.to);
            life.spans.get(index).filter(|next| next.from == span.to)
        });
        if let Some(next) = next {
            self.enter(thread, *next, changed_to);
        } else {
            let stays = Position { from: span.to, changed_from: changed_to, scale: 1.0 };
            self.threads.insert(thread, stays);
        }
    }

    /// Changed nanoseconds for each nanosecond of a span.
    fn scale(&self, thread: ThreadId, span: &Span) -> f64 {
        let length = span.to.since(span.from).get() as f64;
        match span.state {
            State::Running { cpu } if self.change.highest_clock => {
                let time = (span.from, span.to);
                let loss = clock_loss(cpu, time, self.history, self.highest);
                1.0 - loss.get() as f64 / length.max(1.0)
            }
            State::Running { .. } | State::Asleep { .. } => 1.0,
            State::Ready { .. } => {
                let handover = self.change.lock_handover.filter(|_| self.after_futex(thread, span));
                if self.change.no_run_queue {
                    0.0
                } else if let Some(handover) = handover.filter(|_| length > 0.0) {
                    (handover.get() as f64 / length).min(1.0)
                } else {
                    1.0
                }
            }
        }
    }

    /// Whether the wait before this span was in a futex.
    fn after_futex(&self, thread: ThreadId, span: &Span) -> bool {
        let before = self.history.life(thread, span.from).and_then(|life| life.before(span.from));
        before.is_some_and(|before| match before.state {
            State::Asleep { wait: Wait::Call { number, .. }, .. } => crate::path::is_futex(number),
            _ => false,
        })
    }

    /// The changed end of a wait.
    fn woken(&self, position: &Position, wait: Wait, wake: Option<Wake>, span: &Span) -> f64 {
        let slept = position.changed_from;
        let length = span.to.since(span.from).get() as f64;
        let Some(wake) = wake else { return slept + length };
        let hit = self.change.page_hit.filter(|_| matches!(wait, Wait::Fault { .. }));
        match wake.by {
            Origin::Thread(_) => slept.max(self.moment(wake.by, wake.at)),
            Origin::Interrupt(cause) => match (hit, cause) {
                (Some(hit), _) => slept + (hit.get() as f64).min(length),
                (None, Cause::Timer) => slept + length,
                (None, Cause::Storage(id)) => match self.history.request(id) {
                    Some(request) => {
                        let served = wake.at.since(request.issued).get() as f64;
                        slept.max(self.moment(request.by, request.issued) + served)
                    }
                    None => slept + length,
                },
                (None, _) => slept.max(self.moment(wake.by, wake.at)),
            },
        }
    }

    /// The changed moment of something that `origin` did. A thread is followed in
    /// its present span; of an earlier one, the distance to the present is kept.
    /// What comes from outside keeps its distance to the explained thread, which
    /// is taken to have asked for it.
    fn moment(&self, origin: Origin, at: Timestamp) -> f64 {
        let actor = match origin {
            Origin::Thread(thread) => thread,
            Origin::Interrupt(_) => self.explained,
        };
        let Some(position) = self.threads.get(&actor) else {
            return at.since(self.begin).get() as f64;
        };
        if at < position.from {
            position.changed_from - position.from.since(at).get() as f64
        } else if matches!(origin, Origin::Thread(_)) {
            position.at(at)
        } else {
            position.changed_from + at.since(position.from).get() as f64
        }
    }
}
