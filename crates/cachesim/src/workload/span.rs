//! The steps that are part of a launch. Launches may overlap.

use std::ops::Range;

/// Neighbouring steps of one launch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Span {
    /// The number of the launch.
    pub launch: usize,
    /// Index of the first step.
    pub begin: usize,
    /// The step after the last one.
    pub end: usize,
}

impl Span {
    /// Adds the step at `place`, which comes after all others, to `launch`.
    pub fn extend(spans: &mut Vec<Self>, launch: usize, place: usize) {
        Self::cover(spans, launch, place..place + 1);
    }

    /// Adds steps, which come after all others, to `launch`.
    pub fn cover(spans: &mut Vec<Self>, launch: usize, steps: Range<usize>) {
        match spans.last_mut() {
            _ if steps.is_empty() => {}
            Some(last) if last.launch == launch && last.end == steps.start => last.end = steps.end,
            _ => spans.push(Self { launch, begin: steps.start, end: steps.end }),
        }
    }
}

/// Looks up the launch of one step after the other.
#[derive(Debug, Clone)]
pub struct SpanCursor<'a> {
    spans: &'a [Span],
}

impl<'a> SpanCursor<'a> {
    /// All spans, in the order of their places.
    pub fn new(spans: &'a [Span]) -> Self {
        Self { spans }
    }

    /// The launch of the step at `place`. Places must not decrease from call to call.
    #[inline]
    pub fn at(&mut self, place: usize) -> Option<usize> {
        while let Some((first, rest)) = self.spans.split_first() {
            if place < first.end {
                return (first.begin <= place).then_some(first.launch);
            }
            self.spans = rest;
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn launches_take_turns() {
        let mut spans = Vec::new();
        for (launch, place) in [(0, 1), (0, 2), (1, 3), (0, 4), (0, 7)] {
            Span::extend(&mut spans, launch, place);
        }
        Span::cover(&mut spans, 0, 9..9);
        let mut cursor = SpanCursor::new(&spans);
        let launches: Vec<_> = (0..9).map(|place| cursor.at(place)).collect();
        let (a, b) = (Some(0), Some(1));
        assert_eq!(launches, [None, a, a, b, a, None, None, a, None]);
        assert_eq!(spans.len(), 4);
    }
}
