//! The lives that reach into a window, by number.

use std::num::NonZeroU32;
use std::ops::Range;

use unjank_host::Timestamp;
use unjank_host::sched::ThreadId;

use super::window::Window;
use crate::history::{ById, Life};

/// The number of a life among those of a window, counted from 1.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Actor(NonZeroU32);

impl Actor {
    fn at(place: usize) -> Self {
        Self(NonZeroU32::MIN.saturating_add(place as u32))
    }

    pub(super) fn place(self) -> usize {
        self.0.get() as usize - 1
    }
}

/// All lives that overlap a window.
#[derive(Debug)]
pub(super) struct Actors<'a> {
    /// In order of thread id, and of time within an id.
    lives: Vec<OfWindow<'a>>,
    by_thread: ById<Range<usize>>,
    places: usize,
}

/// A life, and its spans that reach into the window.
#[derive(Debug)]
pub(super) struct OfWindow<'a> {
    pub(super) thread: ThreadId,
    pub(super) life: &'a Life,
    /// The numbers of these spans.
    pub(super) spans: Range<usize>,
    /// The index of the first span's place in a replay. Each span has a place, and one more follows
    /// for the time after the last span.
    pub(super) place: usize,
}

impl<'a> Actors<'a> {
    pub(super) fn of(window: &Window<'a>) -> Self {
        let reaches = |life: &Life| {
            life.spans.begin().is_some_and(|begin| begin < window.to)
                && life.spans.end().is_some_and(|end| end > window.from)
        };
        let of_window = |(thread, life): (ThreadId, &'a Life)| {
            let (first, end) =
                (life.spans.ended_by(window.from), life.spans.begun_before(window.to));
            OfWindow { thread, life, spans: first..end.max(first), place: 0 }
        };
        let lives = window.history.lives().filter(|(_, life)| reaches(life));
        let mut lives: Vec<OfWindow<'_>> = lives.map(of_window).collect();
        lives.sort_by_key(|it| (it.thread.0, it.life.begin()));
        let mut by_thread: ById<Range<usize>> = ById::default();
        let mut places = 0;
        for (number, it) in lives.iter_mut().enumerate() {
            by_thread.entry(it.thread).or_insert(number..number).end = number + 1;
            it.place = places;
            places += it.spans.len() + 1;
        }
        Self { lives, by_thread, places }
    }

    /// Their number.
    pub(super) fn len(&self) -> usize {
        self.lives.len()
    }

    /// The number of places that a replay needs for the spans of all actors.
    pub(super) fn places(&self) -> usize {
        self.places
    }

    /// All of them.
    pub(super) fn iter(&self) -> impl Iterator<Item = (Actor, &OfWindow<'a>)> {
        self.lives.iter().enumerate().map(|(place, it)| (Actor::at(place), it))
    }

    pub(super) fn life(&self, actor: Actor) -> &OfWindow<'a> {
        &self.lives[actor.place()]
    }

    /// The life of the thread that had an id at a moment.
    pub(super) fn find(&self, thread: ThreadId, at: Timestamp) -> Option<Actor> {
        let all = self.by_thread.get(&thread)?;
        let begun = self.lives[all.clone()].partition_point(|it| it.life.begin() <= at);
        Some(Actor::at(all.start + begun.saturating_sub(1)))
    }
}
