//! The steps of all threads in a window, in an order in which they can be replayed.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::collections::binary_heap::PeekMut;

use unjank_host::Timestamp;
use unjank_host::input::Stop;

use super::actors::{Actor, Actors, OfWindow};
use super::window::Window;
use crate::history::{Cause, Origin, Span, State};

/// A thread's next step: it begins its first span in the window, or ends its
/// present span.
#[derive(Debug, Clone, Copy)]
pub(super) struct Step {
    pub(super) actor: Actor,
    /// The thread that created it in the window, or whose progress ends its wait.
    pub(super) cause: Option<Actor>,
}

/// The kinds of steps. Those of one moment are taken in this order.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum StepKind {
    /// The window begins within a span of the thread.
    Begins,
    /// Its parent creates the thread, which begins its first span.
    Born,
    /// The thread ends a span. A wait ends through the cause, or through an interrupt.
    Ends,
}

/// The sort key of a step.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct StepKey {
    at: Timestamp,
    what: StepKind,
    /// The beginning of the span.
    from: Timestamp,
    actor: Actor,
    span: u32,
}

/// All steps in a window, in an order in which each comes after those that it
/// depends on: a wait ends, and a thread is born, while its waker or parent is
/// in a span that has begun and not ended. `None` after a stop request.
pub(super) fn steps(window: &Window<'_>, actors: &Actors<'_>, stop: &Stop) -> Option<Vec<Step>> {
    let first = actors.iter().filter_map(|(actor, it)| first(window, actor, it));
    let mut next: BinaryHeap<Reverse<StepKey>> = first.map(Reverse).collect();
    // Each thread begins one span, and ends all.
    let mut steps = Vec::with_capacity(actors.places());
    while let Some(mut place) = next.peek_mut() {
        if stop.is_requested() {
            return None;
        }
        let Reverse(StepKey { what, actor, span, .. }) = *place;
        let it = actors.life(actor);
        let cause = match what {
            StepKind::Begins => None,
            StepKind::Born => it.life.birth.and_then(|birth| actors.find(birth.parent, birth.at)),
            StepKind::Ends => it
                .life
                .spans
                .get(span as usize)
                .and_then(|span| cause(window, actors, actor, &span)),
        };
        steps.push(Step { actor, cause });
        let follows = span + u32::from(what == StepKind::Ends);
        match end(window, actor, it, follows) {
            Some(end) => place.0 = end,
            None => drop(PeekMut::pop(place)),
        }
    }
    Some(steps)
}

/// The first step of a thread.
fn first(window: &Window<'_>, actor: Actor, it: &OfWindow<'_>) -> Option<StepKey> {
    let number = it.spans.clone().next()?;
    let span = it.life.spans.get(number)?;
    let from = span.from.max(window.from);
    let is_born = number == 0 && it.life.birth.is_some_and(|birth| birth.at >= window.from);
    let what = if is_born { StepKind::Born } else { StepKind::Begins };
    Some(StepKey { at: from, what, from, actor, span: number as u32 })
}

/// The end of the span with this number.
fn end(window: &Window<'_>, actor: Actor, it: &OfWindow<'_>, number: u32) -> Option<StepKey> {
    let span =
        it.spans.contains(&(number as usize)).then(|| it.life.spans.get(number as usize))??;
    let from = span.from.max(window.from);
    Some(StepKey { at: span.to, what: StepKind::Ends, from, actor, span: number })
}

/// The thread whose progress ends a wait: the waker, the issuer of the request, or another thread
/// that armed the timer. `None` if no thread's progress does.
fn cause(window: &Window<'_>, actors: &Actors<'_>, sleeper: Actor, span: &Span) -> Option<Actor> {
    let State::Asleep { wake: Some(wake), .. } = span.state else { return None };
    match wake.by {
        Origin::Thread(waker) => actors.find(waker, wake.at),
        Origin::Interrupt(Cause::Storage(id)) => {
            let request = window.history.request(id)?;
            match request.by {
                Origin::Thread(issuer) => actors.find(issuer, request.submitted),
                Origin::Interrupt(_) => None,
            }
        }
        Origin::Interrupt(Cause::Timer(Some(armed))) => {
            actors.find(armed.by, armed.at).filter(|by| *by != sleeper)
        }
        Origin::Interrupt(_) => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_step_takes_8_bytes() {
        assert_eq!(size_of::<Step>(), 8);
    }
}
