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

use crate::history::{Cause, History, Life, Origin, Span, State, Wait, Wake};
use crate::split::{HighestClocks, clock_loss};

/// Spans on each side of one that can belong to the same way to a CPU: a thread
/// that waits for one may be moved to another.
const MOST_MOVES: usize = 16;

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

/// The number of a life among those of a window.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Actor(u32);

/// The steps of a window, for any number of replays.
#[derive(Debug)]
pub struct Replays<'a> {
    window: Window<'a>,
    actors: Actors<'a>,
    steps: Vec<Step>,
}

/// All lives that reach into a window.
#[derive(Debug)]
struct Actors<'a> {
    lives: Vec<(ThreadId, &'a Life)>,
    /// Those with one id, in order of time.
    by_thread: HashMap<ThreadId, Vec<Actor>>,
}

impl<'a> Actors<'a> {
    fn of(window: &Window<'a>) -> Self {
        let reaches = |life: &Life| {
            life.spans.first().is_some_and(|span| span.from < window.to)
                && life.spans.last().is_some_and(|span| span.to > window.from)
        };
        let mut lives: Vec<(ThreadId, &Life)> =
            window.history.lives().filter(|(_, life)| reaches(life)).collect();
        lives.sort_by_key(|(thread, life)| (thread.0, life.begin()));
        let mut by_thread: HashMap<ThreadId, Vec<Actor>> = HashMap::new();
        for (index, (thread, _)) in (0..).zip(&lives) {
            by_thread.entry(*thread).or_default().push(Actor(index));
        }
        Self { lives, by_thread }
    }

    fn life(&self, actor: Actor) -> (ThreadId, &'a Life) {
        self.lives[actor.0 as usize]
    }

    /// The life that a thread's id meant at a moment.
    fn find(&self, thread: ThreadId, at: Timestamp) -> Option<Actor> {
        let all = self.by_thread.get(&thread)?;
        let begun = |actor: &&Actor| self.life(**actor).1.begin() <= at;
        all.iter().rev().find(begun).or(all.first()).copied()
    }
}

impl<'a> Replays<'a> {
    /// Puts everything that happened in the window in order.
    pub fn of(window: Window<'a>) -> Self {
        let actors = Actors::of(&window);
        let steps = steps(&window, &actors);
        Self { window, actors, steps }
    }

    /// When the thread would have reached the end of the window, counted from its
    /// begin, if `change` had been made. Without a change: the length of the
    /// window.
    pub fn length(&self, change: &Change) -> Nanos {
        let Window { thread, from, to, .. } = self.window;
        let positions = vec![Vec::new(); self.actors.lives.len()];
        let Some(explained) = self.actors.find(thread, to) else { return Nanos::ZERO };
        let (window, actors) = (self.window, &self.actors);
        let mut replay = Replay { window, actors, explained, change, positions };
        for step in &self.steps {
            let (_, life) = self.actors.life(step.actor);
            let span = Span {
                from: life.spans[step.span as usize].from.max(from),
                ..life.spans[step.span as usize]
            };
            match step.what {
                What::Begins => replay.enter(step, &span, step.at.since(from).get() as f64),
                What::Born(parent) => {
                    let born = parent.and_then(|parent| replay.moment(parent, step.at));
                    replay.enter(step, &span, born.unwrap_or(step.at.since(from).get() as f64));
                }
                What::Ends(_) if step.actor == explained && span.to >= to => {
                    let end = replay.moment(explained, to).unwrap_or(0.0);
                    return Nanos(end.round() as u64);
                }
                What::Ends(cause) => replay.leave(step, &span, cause),
            }
        }
        // It ended before: its last moment counts.
        let last = replay.positions[explained.0 as usize].last();
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
    actor: Actor,
    /// The number of the span in its life.
    span: u32,
    what: What,
}

#[derive(Debug, Clone, Copy)]
enum What {
    /// The window begins in this span of it.
    Begins,
    /// Its parent creates it; its first span.
    Born(Option<Actor>),
    /// It ends this span: a wait by what this one did, or by what an interrupt was
    /// about.
    Ends(Option<Actor>),
}

/// All steps in a window, in an order in which each comes after those that it
/// depends on: a wait ends, and a thread is born, while its waker or parent is
/// in a span that has begun and not ended.
fn steps(window: &Window<'_>, actors: &Actors<'_>) -> Vec<Step> {
    let Window { from: begin, to: end, .. } = *window;
    let mut steps = Vec::new();
    for (index, (_, life)) in (0..).zip(&actors.lives) {
        let actor = Actor(index);
        let first = life.spans.partition_point(|span| span.to <= begin);
        let within = life.spans.iter().enumerate().skip(first);
        for (number, span) in within.take_while(|(_, span)| span.from < end) {
            let step = |at, what| Step { at, actor, span: number as u32, what };
            if number == first {
                let birth = life.birth.filter(|birth| first == 0 && birth.at >= begin);
                let what = birth
                    .map_or(What::Begins, |birth| What::Born(actors.find(birth.parent, birth.at)));
                steps.push(step(span.from.max(begin), what));
            }
            steps.push(step(span.to, What::Ends(cause(window, actors, actor, span))));
        }
    }
    let rank = |what: &What| match what {
        What::Begins => 0,
        What::Born(_) => 1,
        What::Ends(_) => 2,
    };
    let from = |step: &Step| actors.life(step.actor).1.spans[step.span as usize].from.max(begin);
    steps.sort_unstable_by_key(|step| (step.at, rank(&step.what), from(step), step.actor.0));
    steps
}

/// The thread whose progress ends a wait, if a thread's does.
fn cause(window: &Window<'_>, actors: &Actors<'_>, sleeper: Actor, span: &Span) -> Option<Actor> {
    let State::Asleep { wake: Some(wake), .. } = span.state else { return None };
    match wake.by {
        Origin::Thread(waker) => actors.find(waker, wake.at),
        Origin::Interrupt(Cause::Storage(id)) => {
            let request = window.history.request(id)?;
            match request.by {
                Origin::Thread(issuer) => actors.find(issuer, request.issued),
                Origin::Interrupt(_) => None,
            }
        }
        Origin::Interrupt(Cause::Timer(Some(armed))) => {
            actors.find(armed.by, armed.at).filter(|by| *by != sleeper)
        }
        Origin::Interrupt(_) => None,
    }
}

struct Replay<'a> {
    window: Window<'a>,
    actors: &'a Actors<'a>,
    explained: Actor,
    change: &'a Change,
    /// The spans of each thread so far: wake-ups may lead back to earlier ones.
    positions: Vec<Vec<Position>>,
}

impl Replay<'_> {
    /// A thread begins a span at a changed moment.
    fn enter(&mut self, step: &Step, span: &Span, changed_from: f64) {
        self.begin(step.actor, step.span as usize, span, changed_from);
    }

    fn begin(&mut self, actor: Actor, number: usize, span: &Span, changed_from: f64) {
        let scale = self.scale(actor, number, span);
        let position = Position { from: span.from, changed_from, scale };
        self.positions[actor.0 as usize].push(position);
    }

    /// A thread ends a span, and begins its next.
    fn leave(&mut self, step: &Step, span: &Span, cause: Option<Actor>) {
        let Some(position) = self.positions[step.actor.0 as usize].last().copied() else { return };
        let changed_to = match span.state {
            State::Asleep { wait, wake } => {
                self.woken(step.actor, &position, wait, wake, span, cause)
            }
            State::Running { .. } | State::Woken { .. } | State::Ready { .. } => {
                position.at(span.to)
            }
        };
        let (_, life) = self.actors.life(step.actor);
        let number = step.span as usize + 1;
        if let Some(next) = life.spans.get(number).filter(|next| next.from == span.to) {
            self.begin(step.actor, number, next, changed_to);
        } else {
            let stays = Position { from: span.to, changed_from: changed_to, scale: 1.0 };
            self.positions[step.actor.0 as usize].push(stays);
        }
    }

    /// Changed nanoseconds for each nanosecond of a span.
    fn scale(&self, actor: Actor, number: usize, span: &Span) -> f64 {
        let length = (span.to.since(span.from).get() as f64).max(1.0);
        match span.state {
            State::Running { cpu } if self.change.highest_clock => {
                let Window { history, highest, .. } = self.window;
                let loss = clock_loss(cpu, (span.from, span.to), history, highest);
                1.0 - loss.get() as f64 / length
            }
            State::Running { .. } | State::Asleep { .. } => 1.0,
            State::Woken { .. } => self.handover(actor, number),
            State::Ready { cpu } => {
                let (thread, _) = self.actors.life(actor);
                let is_boosted = self.change.boosted.contains(&thread);
                let behind = if is_boosted { self.behind_others(cpu, span) } else { Nanos::ZERO };
                self.handover(actor, number).min(1.0 - behind.get() as f64 / length)
            }
        }
    }

    /// As `scale`, of a span between the wake-up and the run of a thread that
    /// waited in a futex.
    fn handover(&self, actor: Actor, number: usize) -> f64 {
        let (_, life) = self.actors.life(actor);
        let taken = self.change.lock_handover.zip(way_from_futex(life, number));
        taken.map_or(1.0, |(handover, way)| (handover.get() as f64 / way).min(1.0))
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

    /// The changed end of a wait of `sleeper`.
    fn woken(
        &self,
        sleeper: Actor,
        position: &Position,
        wait: Wait,
        wake: Option<Wake>,
        span: &Span,
        cause: Option<Actor>,
    ) -> f64 {
        let slept = position.changed_from;
        let length = span.to.since(span.from).get() as f64;
        let Some(wake) = wake else { return slept + length };
        if let Some(hit) = self.change.cached.filter(|_| self.is_read(wait, wake.by)) {
            return slept + (hit.get() as f64).min(length);
        }
        let recorded = |at: Timestamp| at.since(self.window.from).get() as f64;
        let did = |at| cause.and_then(|actor| self.moment(actor, at)).unwrap_or(recorded(at));
        match wake.by {
            Origin::Thread(_) => slept.max(did(wake.at)),
            // Its own timer runs from its sleep on, another's from when that was armed.
            Origin::Interrupt(Cause::Timer(Some(armed))) if cause.is_some() => {
                slept.max(did(armed.at) + wake.at.since(armed.at).get() as f64)
            }
            Origin::Interrupt(Cause::Timer(_)) => slept + length,
            Origin::Interrupt(Cause::Storage(id)) => match self.window.history.request(id) {
                Some(request) => {
                    let issued = match request.by {
                        Origin::Thread(_) => did(request.issued),
                        Origin::Interrupt(_) => self.caused_outside(sleeper, request.issued),
                    };
                    slept.max(issued + wake.at.since(request.issued).get() as f64)
                }
                None => slept + length,
            },
            Origin::Interrupt(_) => slept.max(self.caused_outside(sleeper, wake.at)),
        }
    }

    /// Whether a wait ended because something had been read from storage: by an
    /// interrupt, or by the thread of the kernel that decrypts or assembles it.
    fn is_read(&self, wait: Wait, by: Origin) -> bool {
        let is_fault = matches!(wait, Wait::Fault { .. });
        match by {
            Origin::Interrupt(Cause::Storage(id)) => {
                let request = self.window.history.request(id);
                let letters = request.map(|request| request.asked.letters);
                is_fault || letters.is_some_and(|it| it.as_bytes().first() == Some(&b'R'))
            }
            Origin::Interrupt(Cause::Timer(_)) => false,
            Origin::Interrupt(_) => is_fault,
            Origin::Thread(waker) => is_fault && self.window.history.is_kernel(waker),
        }
    }

    /// The changed moment of something that came from outside and woke `sleeper`.
    /// It keeps its distance to the program, which is taken to have asked for it.
    fn caused_outside(&self, sleeper: Actor, at: Timestamp) -> f64 {
        let (thread, _) = self.actors.life(sleeper);
        let asked = if self.window.family.contains(&thread) { sleeper } else { self.explained };
        let asked = self.position(asked, at);
        let moment = asked.map(|it| it.changed_from + at.since(it.from).get() as f64);
        moment.unwrap_or(at.since(self.window.from).get() as f64)
    }

    /// The changed moment of something that a thread did; `None` if it did nothing
    /// in the window yet. What it did before keeps its distance to its first span.
    fn moment(&self, actor: Actor, at: Timestamp) -> Option<f64> {
        let position = self.position(actor, at)?;
        if at < position.from {
            return Some(position.changed_from - position.from.since(at).get() as f64);
        }
        Some(position.at(at))
    }

    /// The span of a thread at a moment, its first one if that comes later.
    fn position(&self, actor: Actor, at: Timestamp) -> Option<&Position> {
        let positions = &self.positions[actor.0 as usize];
        match positions.last() {
            // Almost always.
            Some(last) if last.from <= at => Some(last),
            _ => {
                let begun = positions.partition_point(|position| position.from <= at);
                positions.get(begun.saturating_sub(1))
            }
        }
    }
}

/// The nanoseconds from the wake-up of a thread that waited in a futex to its run,
/// of which this span is a part; `None` for other spans.
fn way_from_futex(life: &Life, number: usize) -> Option<f64> {
    let is_way = |span: &&Span| matches!(span.state, State::Woken { .. } | State::Ready { .. });
    let (before, after) = life.spans.split_at_checked(number)?;
    let begun: Vec<&Span> = before.iter().rev().take(MOST_MOVES).take_while(is_way).collect();
    let State::Asleep { wait, .. } = before.get(number.checked_sub(begun.len() + 1)?)?.state else {
        return None;
    };
    let rest = after.iter().take(MOST_MOVES).take_while(is_way);
    let way = begun.into_iter().chain(rest).map(|span| span.to.since(span.from).get());
    crate::path::is_in_futex(wait).then(|| (way.sum::<u64>() as f64).max(1.0))
}

#[cfg(test)]
mod tests;
