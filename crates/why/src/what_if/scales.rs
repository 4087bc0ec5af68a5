//! How a change shortens a span of a thread.

use std::ops::Range;

use unjank_host::Timestamp;
use unjank_host::tracefs::{Occupant, Task};
use unjank_units::Nanos;

use super::actors::{Actor, Actors};
use super::window::{Change, Window};
use crate::history::{Read, Span, Spans, State};
use crate::path::hands_over;
use crate::split::ClockLosses;

/// The most spans before and after one that are taken for the same wake-up: a thread that waits for
/// a CPU may be migrated, which begins a new span.
const MOST_MOVES: usize = 16;

/// The scales of spans with a change.
pub(super) struct Scales<'a> {
    pub(super) window: Window<'a>,
    pub(super) actors: &'a Actors<'a>,
    pub(super) change: &'a Change,
    pub(super) losses: &'a ClockLosses,
}

impl Scales<'_> {
    /// Changed nanoseconds for each nanosecond of a span.
    pub(super) fn of(&self, actor: Actor, number: usize, span: &Span) -> f64 {
        let length = (span.to.since(span.from).get() as f64).max(1.0);
        match span.state {
            State::Running { cpu } => {
                let mut removed = Nanos::ZERO;
                if let Some(held) = self.change.in_memory {
                    let life = self.actors.life(actor).life;
                    let is_held = |read: &Read| self.window.holds(held.data, read.place);
                    removed = removed + life.reads_in(span.from, span.to, is_held);
                }
                if self.change.no_reclaim {
                    removed = removed + self.reclaims(actor, (span.from, span.to));
                }
                // What is left is computed at the highest clock.
                let left = 1.0 - (removed.get() as f64 / length).min(1.0);
                left * (1.0 - self.slow(cpu, span.from, span.to) / length)
            }
            State::Asleep { .. } => 1.0,
            State::Woken { .. } => self.handoff(actor, number).unwrap_or(1.0),
            State::Ready { cpu } => self.ready(actor, number, cpu, span),
        }
    }

    /// The nanoseconds of a CPU's computing time that the change to the highest clock saves.
    fn slow(&self, cpu: usize, from: Timestamp, to: Timestamp) -> f64 {
        if !self.change.highest_clock {
            return 0.0;
        }
        let Window { history, highest, .. } = self.window;
        self.losses.between(cpu, (from, to), history, highest).get() as f64
    }

    /// As `of`, for a thread that waits for a CPU. Other threads have it for a part of that
    /// time. A boosted thread precedes those that are not real-time threads, because a nice value
    /// does not preempt these. With the highest clock, a thread that was preempted needs fewer
    /// turns, and so do the others; one that was woken waits for as long as before.
    fn ready(&self, actor: Actor, number: usize, cpu: usize, span: &Span) -> f64 {
        let of = self.actors.life(actor);
        let boosted = &self.change.boosted;
        let is_boosted = boosted.contains(&of.thread);
        let handoff = self.handoff(actor, number);
        let takes_turns = self.change.highest_clock && Way::of(&of.life.spans, number).is_preempted;
        if !is_boosted && handoff.is_none() && !takes_turns {
            return 1.0;
        }
        let (mut theirs, mut left) = (0.0, 0.0);
        for (task, from, to) in self.others(cpu, span) {
            let took = to.since(from).get() as f64;
            theirs += took;
            if !is_boosted || task.is_real_time() || boosted.contains(&task.tid) {
                left += if takes_turns { took - self.slow(cpu, from, to) } else { took };
            }
        }
        let length = (span.to.since(span.from).get() as f64).max(1.0);
        (left + (length - theirs) * handoff.unwrap_or(1.0)) / length
    }

    /// The threads that have a CPU in a span, each with the time from when to when.
    fn others(
        &self,
        cpu: usize,
        span: &Span,
    ) -> impl Iterator<Item = (Task, Timestamp, Timestamp)> + use<> {
        let cpu = self.window.trace.cpu(cpu);
        let stretches = cpu.map(|cpu| cpu.between(span.from, span.to)).unwrap_or_default();
        stretches.into_iter().filter_map(|stretch| match stretch.who {
            Occupant::Thread(task) => Some((task, stretch.from, stretch.to)),
            _ => None,
        })
    }

    /// How long a thread looked for pages to evict between two moments, without what it spends on
    /// reads that the change holds in memory.
    fn reclaims(&self, actor: Actor, (from, to): (Timestamp, Timestamp)) -> Nanos {
        let life = self.actors.life(actor).life;
        let rest = |(begin, end): (Timestamp, Timestamp)| {
            let reads = self.change.in_memory.map_or(Nanos::ZERO, |held| {
                life.reads_in(begin, end, |read| self.window.holds(held.data, read.place))
            });
            end.since(begin) - reads
        };
        life.reclaims_in(from, to).map(rest).fold(Nanos::ZERO, |sum, part| sum + part)
    }

    /// As `of`, for time without another thread on the CPU between the wake-up of a thread that
    /// waited in a futex and its run; `None` for other spans. A lock that is spun for does not
    /// take the CPU from another thread any sooner.
    fn handoff(&self, actor: Actor, number: usize) -> Option<f64> {
        let handoff = self.change.lock_handoff?;
        let spans = &self.actors.life(actor).life.spans;
        let way = Way::of(spans, number);
        let State::Asleep { wait, wake } = way.before? else { return None };
        wake.filter(|wake| hands_over(wait, wake))?;
        let free = |span: Span| {
            let length = span.to.since(span.from).get() as f64;
            let State::Ready { cpu } = span.state else { return length };
            let others = self.others(cpu, &span).map(|(_, from, to)| to.since(from).get() as f64);
            length - others.sum::<f64>()
        };
        let free: f64 = way.spans.filter_map(|number| spans.get(number)).map(free).sum();
        Some((handoff.get() as f64 / free.max(1.0)).min(1.0))
    }
}

/// The spans around one in which a thread waits for a CPU, from its wake-up or preemption to its
/// run.
struct Way {
    spans: Range<usize>,
    /// What the thread did before.
    before: Option<State>,
    is_preempted: bool,
}

impl Way {
    fn of(spans: &Spans, number: usize) -> Self {
        let is_way = |number: &usize| {
            let state = spans.get(*number).map(|span| span.state);
            matches!(state, Some(State::Woken { .. } | State::Ready { .. }))
        };
        let first = number - (0..number).rev().take(MOST_MOVES).take_while(is_way).count();
        let end = number + (number..spans.len()).take(MOST_MOVES).take_while(is_way).count();
        let before = first.checked_sub(1).and_then(|before| spans.get(before));
        let before = before.map(|span| span.state);
        let is_preempted = matches!(before, Some(State::Running { .. }));
        Self { spans: first..end, before, is_preempted }
    }
}
