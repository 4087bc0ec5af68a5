//! A clock of spans in less than four bits, of which the last nine are distinguishable.
//!
//! Span numbers are reused. Before a number comes again, a hand goes over all pages, some at each
//! event, and marks those whose span is no longer distinguishable. So every event takes constant
//! time.

use crate::nibbles::Nibbles;

/// The number of a span, or [`LONG_AGO`].
pub(super) type Time = u8;

/// Before the distinguishable spans.
pub(super) const LONG_AGO: Time = 1;
/// The last number of a span; the first follows [`LONG_AGO`].
pub(super) const LAST: Time = 13;
/// How many span numbers there are; they are used in turn.
const NUMBERS: u8 = LAST - LONG_AGO;
/// The age in spans up to which spans are distinguishable. Older ones are marked before their
/// number is reused.
const APART: u8 = 8;
/// Spans in which the hand goes once over all pages: one less than until a number is reused.
const ROUND: u32 = (NUMBERS - APART - 2) as u32;
/// The maximum number of pages that the hand passes in an event.
const MAX_SCANNED: u32 = 64;

/// A bit for each span number.
const ALL_NUMBERS: u32 = (1 << NUMBERS) - 1;

/// A clock that counts events in spans.
#[derive(Debug, Clone)]
pub(super) struct Spans {
    now: Time,
    /// Events per span, and those left of this one.
    length: u32,
    left: u32,
    /// The number of pages, and the position of the hand.
    footprint: u32,
    hand: u32,
}

impl Spans {
    /// A clock for `footprint` pages, with spans of about `length` events.
    pub(super) fn new(footprint: u32, length: u32) -> Self {
        let mut spans = Self { now: LONG_AGO + 1, length: 1, left: 1, footprint, hand: 0 };
        spans.set_length(length);
        spans
    }

    /// The current span.
    pub(super) fn now(&self) -> Time {
        self.now
    }

    /// A recorded time as seen now: itself, or [`LONG_AGO`].
    pub(super) fn seen_from_now(&self, time: Time) -> Time {
        if time == LONG_AGO || self.age(time) > APART { LONG_AGO } else { time }
    }

    /// Whether `one` was after `other`; false within the same span.
    pub(super) fn is_after(&self, one: Time, other: Time) -> bool {
        match (self.seen_from_now(one), self.seen_from_now(other)) {
            (LONG_AGO, _) => false,
            (_, LONG_AGO) => true,
            (one, other) => self.age(one) < self.age(other),
        }
    }

    /// The distinguishable spans, the oldest first.
    pub(super) fn oldest_first(&self) -> impl Iterator<Item = Time> + use<> {
        let now = self.now;
        (0..=APART).rev().map(move |age| earlier(now, age))
    }

    /// The oldest distinguishable span among `times`, which has a bit for each.
    pub(super) fn oldest_of(&self, times: u16) -> Option<Time> {
        // In the order of age: the bit of a span is its age before the highest one.
        let first = u32::from(LONG_AGO) + 1;
        let numbers = u32::from(times) >> first & ALL_NUMBERS;
        let now = u32::from(self.now) - first;
        let last = u32::from(NUMBERS) - 1;
        let by_age = (numbers << (last - now) | numbers >> (now + 1)) & ALL_NUMBERS;
        let apart = by_age >> (last - u32::from(APART)) << (last - u32::from(APART));
        let age = last.checked_sub(apart.trailing_zeros())?;
        Some(earlier(self.now, age as u8))
    }

    /// Counts an event and moves the hand, which sets old times of `states` to [`LONG_AGO`]. If a
    /// span begins, returns the one that has become long ago.
    pub(super) fn pass(&mut self, states: &mut Nibbles) -> Option<Time> {
        // Times that are old and not marked yet.
        let old = [1, 2, 3].map(|more| earlier(self.now, APART + more));
        let mut rest = self.footprint.div_ceil(self.length.saturating_mul(ROUND));
        while rest > 0 {
            let end = self.footprint.min(self.hand.saturating_add(rest));
            states.replace(self.hand..end, old, LONG_AGO);
            rest -= end - self.hand;
            self.hand = if end == self.footprint { 0 } else { end };
        }
        self.left -= 1;
        if self.left > 0 {
            return None;
        }
        self.left = self.length;
        self.now = if self.now == LAST { LONG_AGO + 1 } else { self.now + 1 };
        Some(earlier(self.now, APART + 1))
    }

    /// Halves the length of the span that has just begun and of those that follow.
    pub(super) fn halve(&mut self) {
        self.set_length(self.length / 2);
    }

    /// Doubles the length of the span that has just begun and of those that follow.
    pub(super) fn double(&mut self) {
        self.set_length(self.length.saturating_mul(2));
    }

    fn set_length(&mut self, length: u32) {
        let least = self.footprint.div_ceil(ROUND * MAX_SCANNED).max(1);
        self.length = length.clamp(least, self.footprint.max(least));
        self.left = self.length;
    }

    /// How many spans ago a number was last used.
    fn age(&self, time: Time) -> u8 {
        if self.now >= time { self.now - time } else { self.now + NUMBERS - time }
    }
}

/// Whether the state of a page is a time.
pub(super) fn is_time(state: u8) -> bool {
    (LONG_AGO..=LAST).contains(&state)
}

/// The number of the span `spans` before `now`.
fn earlier(now: Time, spans: u8) -> Time {
    // The first number is `LONG_AGO + 1`.
    if now > LONG_AGO + spans { now - spans } else { now + NUMBERS - spans }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::page::Page;

    proptest! {
        /// Compares with times that are recorded in full.
        #[test]
        fn times_are_compared_correctly_whatever_the_lengths(
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
    fn the_oldest_of_several_spans_is_found() {
        for now in LONG_AGO + 1..=LAST {
            let spans = Spans { now, ..Spans::new(100, 10) };
            for times in 0..1_u16 << 14 {
                let has = |time: &Time| times >> time & 1 == 1;
                assert_eq!(spans.oldest_of(times), spans.oldest_first().find(has), "{now} {times}");
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
