//! Time in spans, of which the last nine are told apart, in less than four bits.
//!
//! Numbers of spans come again. A hand goes over all pages meanwhile, some at
//! each event, and clears those whose span is past telling, so that no event
//! takes longer than another.

use crate::nibbles::Nibbles;
use crate::page::Page;

/// The number of a span, or [`LONG_AGO`].
pub(super) type Time = u8;

/// Before the spans that are told apart.
pub(super) const LONG_AGO: Time = 1;
/// The last number of a span; the first follows [`LONG_AGO`].
pub(super) const LAST: Time = 13;
/// Numbers of spans, which are used in turn.
const NUMBERS: u8 = LAST - LONG_AGO;
/// Spans ago that are told apart. The numbers of earlier ones are cleared before
/// they come again.
const APART: u8 = 8;
/// Spans in which all pages are looked at: one less than it takes until a
/// number that is to be cleared comes again.
const ROUND: u32 = (NUMBERS - APART - 2) as u32;
/// The most pages that are looked at in an event.
const MOST_LOOKS: u32 = 64;

/// A clock that counts events and calls so many of them a span.
#[derive(Debug, Clone)]
pub(super) struct Spans {
    now: Time,
    /// Events of a span, and those that are left of this one.
    length: u32,
    left: u32,
    /// Pages to look at, and the next one.
    footprint: u32,
    hand: u32,
}

impl Spans {
    /// A clock for `footprint` pages, with spans of `length` events or a little
    /// more.
    pub(super) fn new(footprint: u32, length: u32) -> Self {
        let mut spans = Self { now: LONG_AGO + 1, length: 1, left: 1, footprint, hand: 0 };
        spans.set_length(length);
        spans
    }

    /// The span that is under way.
    pub(super) fn now(&self) -> Time {
        self.now
    }

    /// What a time that was written down is now: long ago, or itself.
    pub(super) fn seen_from_now(&self, time: Time) -> Time {
        if time == LONG_AGO || self.age(time) > APART { LONG_AGO } else { time }
    }

    /// Whether `one` was after `other`. Within a span nobody can tell.
    pub(super) fn is_after(&self, one: Time, other: Time) -> bool {
        match (self.seen_from_now(one), self.seen_from_now(other)) {
            (LONG_AGO, _) => false,
            (_, LONG_AGO) => true,
            (one, other) => self.age(one) < self.age(other),
        }
    }

    /// The spans that are told apart, the oldest first.
    pub(super) fn oldest_first(&self) -> impl Iterator<Item = Time> + use<> {
        let now = self.now;
        (0..=APART).rev().map(move |age| earlier(now, age))
    }

    /// Counts an event, and writes [`LONG_AGO`] over some times of `states` that
    /// are. If a span begins: the one that has become long ago.
    pub(super) fn pass(&mut self, states: &mut Nibbles) -> Option<Time> {
        for _ in 0..self.footprint.div_ceil(self.length.saturating_mul(ROUND)) {
            let page = Page(self.hand);
            let state = states.get(page);
            if is_time(state) && self.seen_from_now(state) == LONG_AGO {
                states.set(page, LONG_AGO);
            }
            self.hand += 1;
            if self.hand == self.footprint {
                self.hand = 0;
            }
        }
        self.left -= 1;
        if self.left > 0 {
            return None;
        }
        self.left = self.length;
        self.now = if self.now == LAST { LONG_AGO + 1 } else { self.now + 1 };
        Some(earlier(self.now, APART + 1))
    }

    /// Makes the span that has just begun, and those that follow, half as long.
    pub(super) fn halve(&mut self) {
        self.set_length(self.length / 2);
    }

    /// Makes the span that has just begun, and those that follow, twice as long.
    pub(super) fn double(&mut self) {
        self.set_length(self.length.saturating_mul(2));
    }

    fn set_length(&mut self, length: u32) {
        let least = self.footprint.div_ceil(ROUND * MOST_LOOKS).max(1);
        self.length = length.clamp(least, self.footprint.max(least));
        self.left = self.length;
    }

    /// How many spans ago a number was last used.
    fn age(&self, time: Time) -> u8 {
        (self.now + NUMBERS - time) % NUMBERS
    }
}

/// Whether what is written for a page is a time, and nothing else.
pub(super) fn is_time(state: u8) -> bool {
    (LONG_AGO..=LAST).contains(&state)
}

/// The number of the span that was so many before.
fn earlier(now: Time, spans: u8) -> Time {
    (now - LONG_AGO - 1 + NUMBERS - spans) % NUMBERS + LONG_AGO + 1
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        /// Against times that are written down in full.
        #[test]
        fn what_was_earlier_is_told_whatever_the_lengths(
            footprint in 1_u32..600,
            events in prop::collection::vec((0_u32..600, 0_u8..40), 1..4_000),
        ) {
            let mut spans = Spans::new(footprint, 20);
            let mut states = Nibbles::new(footprint);
            let mut span = 0_u32;
            let mut written = vec![None; footprint as usize];
            for (page, other) in events {
                let page = Page(page % footprint);
                if let Some(at) = written[page.index()] {
                    let seen = spans.seen_from_now(states.get(page));
                    prop_assert_eq!(seen == LONG_AGO, span - at > u32::from(APART));
                    prop_assert_eq!(spans.is_after(states.get(page), LONG_AGO), seen != LONG_AGO);
                    prop_assert_eq!(
                        spans.is_after(spans.now(), states.get(page)),
                        at < span,
                        "{} of {}", at, span
                    );
                }
                states.set(page, spans.now());
                written[page.index()] = Some(span);
                if spans.pass(&mut states).is_some() {
                    span += 1;
                    match other {
                        0..8 => spans.double(),
                        8..16 => spans.halve(),
                        _ => {}
                    }
                }
            }
        }
    }

    #[test]
    fn spans_come_in_their_order() {
        let (mut spans, mut states) = (Spans::new(1, 1), Nibbles::new(1));
        let mut seen = vec![spans.now()];
        for _ in 0..8 {
            spans.pass(&mut states);
            seen.push(spans.now());
        }
        assert_eq!(spans.oldest_first().collect::<Vec<_>>(), seen);
        assert_eq!(spans.pass(&mut states), Some(seen[0]), "nine spans ago");
    }
}
