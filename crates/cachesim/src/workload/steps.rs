//! The steps of a workload in their order.

use std::iter::Peekable;
use std::slice::Iter;

use super::{Launch, Process, SpanCursor, Workload};

/// One step of a workload.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Step {
    /// A process ends.
    Exit(Process),
    /// An app is launched.
    Launch(Launch),
    /// A page is accessed: the index of the access, and the launch that it is part of.
    Access(usize, Option<usize>),
}

/// Merges accesses, launches and exits in their order.
#[derive(Debug)]
pub struct Steps<'a> {
    accesses: usize,
    exits: Peekable<Iter<'a, (usize, Process)>>,
    launches: Peekable<Iter<'a, Launch>>,
    /// The next access.
    at: usize,
    spans: SpanCursor<'a>,
}

impl Workload {
    /// All steps in their order.
    pub fn steps(&self) -> Steps<'_> {
        Steps {
            accesses: self.accesses.len(),
            exits: self.exits.iter().peekable(),
            launches: self.launches.iter().peekable(),
            at: 0,
            spans: SpanCursor::new(&self.spans),
        }
    }
}

impl Iterator for Steps<'_> {
    type Item = Step;

    fn next(&mut self) -> Option<Step> {
        let at = self.at;
        if let Some((_, process)) = self.exits.next_if(|(before, _)| *before == at) {
            return Some(Step::Exit(*process));
        }
        if let Some(launch) = self.launches.next_if(|launch| launch.place == at) {
            return Some(Step::Launch(*launch));
        }
        (at < self.accesses).then(|| {
            self.at += 1;
            Step::Access(at, self.spans.at(at))
        })
    }
}
