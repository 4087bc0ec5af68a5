//! One replay of the steps of a window.

use unjank_host::Timestamp;
use unjank_host::input::Stop;
use unjank_host::sched::ThreadId;
use unjank_units::Nanos;

use super::actors::{Actor, Actors};
use super::scales::Scales;
use super::sections::Sections;
use super::steps::Step;
use super::window::{Change, Window};
use crate::history::{Cause, Origin, Queued, Request, Span, State, Wait, Wake};
use crate::path::is_sleep_until;

/// The most work items that are followed, each of which queued the next.
const MOST_WORK: usize = 8;

/// A span of a thread after the change.
#[derive(Debug, Clone, Copy, Default)]
struct Position {
    /// The beginning of the span after the change.
    changed_from: f64,
    /// Changed nanoseconds for each nanosecond of the trace.
    scale: f64,
}

/// A position, and the beginning of its span in the trace.
#[derive(Debug, Clone, Copy)]
struct Placed {
    from: Timestamp,
    position: Position,
}

/// A replay with a change.
pub(super) struct Replay<'a> {
    window: Window<'a>,
    actors: &'a Actors<'a>,
    explained: Actor,
    change: &'a Change,
    scales: Scales<'a>,
    sections: &'a Sections,
    /// The positions of all spans that have begun, by place. A wake-up may lead back to a span that
    /// has already ended.
    positions: Vec<Position>,
    /// The number of spans that each actor has begun.
    begun: Vec<u32>,
}

impl<'a> Replay<'a> {
    pub(super) fn new(scales: Scales<'a>, sections: &'a Sections, explained: Actor) -> Self {
        let Scales { window, actors, change, .. } = scales;
        let positions = vec![Position::default(); actors.places()];
        let begun = vec![0; actors.len()];
        Self { window, actors, explained, change, scales, sections, positions, begun }
    }

    /// Takes all steps up to the end of the window. Returns when the explained thread reaches it,
    /// counted from the beginning of the window; `None` after a stop request.
    pub(super) fn run(mut self, steps: &[Step], stop: &Stop) -> Option<Nanos> {
        let Window { from, to, .. } = self.window;
        for &step in steps {
            if stop.is_requested() {
                return None;
            }
            let (of, begun) = (self.actors.life(step.actor), self.begun[step.actor.place()]);
            let number = of.spans.start + (begun as usize).saturating_sub(1);
            let Some(span) = of.life.spans.get(number) else { continue };
            let span = Span { from: span.from.max(from), ..span };
            if begun == 0 {
                let recorded = span.from.since(from).get() as f64;
                let born = step.cause.and_then(|parent| self.moment(parent, span.from));
                self.begin(step.actor, number, &span, born.unwrap_or(recorded));
            } else if step.actor == self.explained && span.to >= to {
                let end = self.moment(self.explained, to).unwrap_or(0.0);
                return Some(Nanos(end.round() as u64));
            } else {
                self.leave(step, number, &span);
            }
        }
        // After the thread's last span nothing is known of it: that time keeps its length.
        let last = self.last(self.explained);
        let end = last.map_or(0.0, |last| self.changed(self.explained, last, to));
        Some(Nanos(end.round() as u64))
    }

    /// A thread begins a span at a changed moment.
    fn begin(&mut self, actor: Actor, number: usize, span: &Span, changed_from: f64) {
        let scale = self.scales.of(actor, number, span);
        self.push(actor, Position { changed_from, scale });
    }

    fn push(&mut self, actor: Actor, position: Position) {
        let begun = &mut self.begun[actor.place()];
        self.positions[self.actors.life(actor).place + *begun as usize] = position;
        *begun += 1;
    }

    /// A thread ends a span, and begins its next.
    fn leave(&mut self, step: Step, number: usize, span: &Span) {
        let Some(placed) = self.last(step.actor) else { return };
        let changed_to = match span.state {
            State::Asleep { wait, wake } => {
                self.woken(step.actor, placed.position.changed_from, wait, wake, span, step.cause)
            }
            State::Running { .. } | State::Woken { .. } | State::Ready { .. } => {
                self.changed(step.actor, placed, span.to)
            }
        };
        match self.actors.life(step.actor).life.spans.get(number + 1) {
            Some(next) => self.begin(step.actor, number + 1, &next, changed_to),
            None => self.push(step.actor, Position { changed_from: changed_to, scale: 1.0 }),
        }
    }

    /// The changed end of a wait of `sleeper` that began at `slept`.
    fn woken(
        &self,
        sleeper: Actor,
        slept: f64,
        wait: Wait,
        wake: Option<Wake>,
        span: &Span,
        cause: Option<Actor>,
    ) -> f64 {
        let length = span.to.since(span.from).get() as f64;
        let Some(wake) = wake else { return slept + length };
        let recorded = |at: Timestamp| at.since(self.window.from).get() as f64;
        let submitted = |request: &Request| match request.by {
            Origin::Thread(by) => self.did(by, request.submitted, sleeper),
            Origin::Interrupt(_) => self.caused_outside(sleeper, request.submitted),
        };
        let end = match wake.by {
            Origin::Thread(waker) => slept.max(self.did(waker, wake.at, sleeper)),
            // A timer that another thread armed runs from then on, its own one from its sleep on.
            Origin::Interrupt(Cause::Timer(Some(armed))) if cause.is_some() => slept
                .max(self.did(armed.by, armed.at, sleeper) + wake.at.since(armed.at).get() as f64),
            Origin::Interrupt(Cause::Timer(_)) if is_sleep_until(wait) => {
                slept.max(recorded(wake.at))
            }
            Origin::Interrupt(Cause::Timer(_)) => slept + length,
            Origin::Interrupt(Cause::Storage(id)) => match self.window.history.request(id) {
                Some(request) => {
                    slept.max(submitted(request) + wake.at.since(request.submitted).get() as f64)
                }
                None => slept + length,
            },
            Origin::Interrupt(_) => slept.max(self.caused_outside(sleeper, wake.at)),
        };
        let Some(held) = self.change.in_memory else { return end };
        let request = self.completed(wake.by, span.from, wake.at);
        let thread = self.actors.life(sleeper).thread;
        let place = request.map(|request| (request.asked.device, request.asked.sector));
        if !self.is_read(thread, wait, wake.by, request) || !self.window.holds(held.data, place) {
            return end;
        }
        // An idle worker of a program may sleep long before the request is issued that ends its
        // wait, and cannot be woken earlier. A request that a kernel worker passed on sets no such
        // limit: data in memory needs no worker.
        let asks = |by| !self.window.history.is_kernel(by);
        let asked = request.filter(|it| matches!(it.by, Origin::Thread(by) if asks(by)));
        end.min(slept.max(asked.map_or(slept, submitted)) + held.read.get() as f64)
    }

    /// The changed moment at which a thread did something for `sleeper`. An action of a kernel
    /// worker keeps its distance to the queueing of the work item: with another queueing time, this
    /// worker or another one would have been idle.
    fn did(&self, by: ThreadId, at: Timestamp, sleeper: Actor) -> f64 {
        let Window { history, from, .. } = self.window;
        let (mut thread, mut began) = (by, at);
        for _ in 0..MOST_WORK {
            let item = history.work_begun(thread, from, began);
            let queued = item.filter(|_| history.is_kernel(thread)).and_then(|item| item.queued);
            match queued {
                Some(Queued { by: Origin::Thread(by), at }) => (thread, began) = (by, at),
                Some(_) => return self.caused_outside(sleeper, at),
                None => break,
            }
        }
        let found = self.actors.find(thread, began);
        let moment = found.and_then(|actor| self.moment(actor, began));
        let moment = moment.unwrap_or(began.since(from).get() as f64);
        moment + at.since(began).get() as f64
    }

    /// The request whose completion caused a wake-up at `at`: through an interrupt, or through work
    /// items that began at `since` or later.
    fn completed(&self, by: Origin, since: Timestamp, at: Timestamp) -> Option<&'a Request> {
        let history = self.window.history;
        let (mut by, mut at) = (by, at);
        for _ in 0..MOST_WORK {
            match by {
                Origin::Interrupt(Cause::Storage(id)) => return history.request(id),
                Origin::Thread(worker) if history.is_kernel(worker) => {
                    let queued = history.work_begun(worker, since, at)?.queued?;
                    (by, at) = (queued.by, queued.at);
                }
                Origin::Interrupt(_) | Origin::Thread(_) => return None,
            }
        }
        None
    }

    /// Whether a wait of `sleeper` ended because something had been read from storage, with
    /// `request` if that is known. An interrupt ends such a wait, or the thread of the kernel
    /// that decrypts or assembles the data.
    fn is_read(
        &self,
        sleeper: ThreadId,
        wait: Wait,
        by: Origin,
        request: Option<&Request>,
    ) -> bool {
        let is_fault = matches!(wait, Wait::Fault { .. });
        let reads = request.is_some_and(|it| it.asked.is_read());
        match by {
            Origin::Interrupt(Cause::Timer(_)) => false,
            Origin::Interrupt(_) => is_fault || reads,
            Origin::Thread(waker) => {
                let is_kernel = |thread| self.window.history.is_kernel(thread);
                // An idle kernel worker waits for work, not for data that its waker has read.
                let may_read = !matches!(wait, Wait::KernelLock { .. }) && !is_kernel(sleeper);
                is_fault && is_kernel(waker) || may_read && reads
            }
        }
    }

    /// The changed moment of an event from outside that woke `sleeper`. It keeps its
    /// distance to the program, which is assumed to have asked for it.
    fn caused_outside(&self, sleeper: Actor, at: Timestamp) -> f64 {
        let thread = self.actors.life(sleeper).thread;
        let asked = if self.window.family.contains(&thread) { sleeper } else { self.explained };
        let asked = self.placed(asked, at);
        let moment = asked.map(|it| it.position.changed_from + at.since(it.from).get() as f64);
        moment.unwrap_or(at.since(self.window.from).get() as f64)
    }

    /// The changed moment of an action of a thread; `None` if the thread has begun no span yet. An
    /// action before its first span keeps its distance to that.
    fn moment(&self, actor: Actor, at: Timestamp) -> Option<f64> {
        let placed = self.placed(actor, at)?;
        if at < placed.from {
            return Some(placed.position.changed_from - placed.from.since(at).get() as f64);
        }
        Some(self.changed(actor, placed, at))
    }

    /// The changed moment of a moment in a span.
    fn changed(&self, actor: Actor, placed: Placed, at: Timestamp) -> f64 {
        let Position { changed_from, scale } = placed.position;
        let mut took = at.since(placed.from).get() as f64;
        if self.change.half_sections {
            took -= self.sections.between(actor, placed.from, at).get() as f64 / 2.0;
        }
        changed_from + took * scale
    }

    /// The span of a thread at a moment, its first one if that comes later.
    fn placed(&self, actor: Actor, at: Timestamp) -> Option<Placed> {
        match self.last(actor) {
            // Usually the moment is in the last span, so the others are not searched.
            Some(last) if at < last.from => {
                let of = self.actors.life(actor);
                let begun = of.life.spans.begun_by(at).saturating_sub(of.spans.start);
                Some(self.nth(actor, begun.saturating_sub(1)))
            }
            last => last,
        }
    }

    /// The last span that a thread has begun.
    fn last(&self, actor: Actor) -> Option<Placed> {
        let begun = self.begun[actor.place()] as usize;
        Some(self.nth(actor, begun.checked_sub(1)?))
    }

    /// The span of a thread with this number in the window.
    fn nth(&self, actor: Actor, number: usize) -> Placed {
        let of = self.actors.life(actor);
        let from = of.life.spans.begin_of(of.spans.start + number);
        let position = self.positions[of.place + number];
        Placed { from: from.max(self.window.from), position }
    }
}
