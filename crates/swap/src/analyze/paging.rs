//! Evictions and refaults.

use std::collections::HashMap;

use unjank_host::Nanos;
use unjank_measure::{Series, SeriesRecord, Unit};

use crate::trace::{Backing, Event, Operation, ProcessIndex};
use unjank_cachesim::Page;

/// Evictions and refaults of a trace.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Paging {
    /// Evictions of dirty pages, which were written.
    pub page_outs: u64,
    /// Evictions of clean pages.
    pub clean_drops: u64,
    /// Page-ins.
    pub page_ins: u64,
    /// Page-ins of pages whose eviction is in the trace.
    pub re_faults: u64,
    /// Different pages that were evicted.
    pub pages_out: u64,
    /// Evicted pages that never came back.
    pub pages_never_back: u64,
    /// Refault distances: the number of other evictions between a page's eviction and its refault.
    pub distances: Option<SeriesRecord>,
    /// Times between eviction and refault; `None` if the trace has no times.
    pub times: Option<SeriesRecord>,
}

/// A page that came back.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct ReFault {
    pub(super) at: Nanos,
    pub(super) page: Page,
    pub(super) who: ProcessIndex,
    /// Evictions since its own.
    pub(super) distance: u64,
}

/// Tracks evicted pages. Takes 24 bytes for each page up to the last evicted one.
pub(super) struct Follower {
    counts: Paging,
    known: Vec<LastPaging>,
    evictions: u64,
    /// The number of evictions before the end of each process.
    exits: HashMap<ProcessIndex, u64>,
    distances: Series,
    times: Series,
}

#[derive(Clone, Copy, Default)]
struct LastPaging {
    at: Nanos,
    /// The number of the page's eviction, counted from 1; 0 while it is not evicted.
    number: u64,
    who: ProcessIndex,
    anonymous: bool,
    was_out: bool,
    came_back: bool,
}

impl Follower {
    pub(super) fn new(label: &str) -> Self {
        let series = |name: &str, unit| Series::of(name, unit).with_label("trace", label);
        Self {
            counts: Paging::default(),
            known: Vec::new(),
            evictions: 0,
            exits: HashMap::new(),
            distances: series("swap/analyze/re_fault/distance", Unit::Pages),
            times: series("swap/analyze/re_fault/time", Unit::Nanoseconds),
        }
    }

    /// Takes the end of a process: its evicted pages do not come back.
    pub(super) fn exit(&mut self, who: ProcessIndex) {
        if who != ProcessIndex::UNKNOWN {
            self.exits.insert(who, self.evictions);
        }
    }

    /// Takes an event of a page. Returns the refault, if it is one.
    pub(super) fn event(&mut self, event: &Event, page: Page) -> Option<ReFault> {
        match event.operation {
            Operation::PageOut => self.counts.page_outs += 1,
            Operation::CleanDrop => self.counts.clean_drops += 1,
            Operation::PageIn => {
                self.counts.page_ins += 1;
                return self.back(event, page);
            }
            _ => return None,
        }
        self.evictions += 1;
        if page.index() >= self.known.len() {
            self.known.resize(page.index() + 1, LastPaging::default());
        }
        let known = &mut self.known[page.index()];
        known.at = event.at;
        known.number = self.evictions;
        known.who = event.who;
        known.anonymous = event.backing == Backing::Anonymous;
        known.was_out = true;
        None
    }

    fn back(&mut self, event: &Event, page: Page) -> Option<ReFault> {
        let known = self.known.get_mut(page.index()).filter(|known| known.number > 0)?;
        let number = std::mem::take(&mut known.number);
        let ended = self.exits.get(&known.who).is_some_and(|exit| *exit >= number);
        if known.anonymous && ended {
            return None;
        }
        known.came_back = true;
        self.counts.re_faults += 1;
        let distance = self.evictions - number;
        self.distances.record_value(distance);
        self.times.record(event.at - known.at);
        Some(ReFault { at: event.at, page, who: event.who, distance })
    }

    pub(super) fn bytes(&self) -> usize {
        self.known.capacity() * size_of::<LastPaging>()
    }

    pub(super) fn finish(self, has_times: bool) -> Paging {
        let out = self.known.iter().filter(|known| known.was_out);
        let (mut pages_out, mut never) = (0, 0);
        for known in out {
            pages_out += 1;
            never += u64::from(!known.came_back);
        }
        let some = |series: Series| (series.n() > 0).then(|| series.finish());
        Paging {
            pages_out,
            pages_never_back: never,
            distances: some(self.distances),
            times: has_times.then(|| some(self.times)).flatten(),
            ..self.counts
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::trace::Space;

    fn event(operation: Operation, at: u64, who: u32) -> Event {
        Event {
            at: Nanos(at),
            page: 0,
            who: ProcessIndex(who),
            space: Space(1),
            operation,
            backing: Backing::Anonymous,
        }
    }

    #[test]
    fn a_distance_is_the_evictions_in_between() {
        let mut follower = Follower::new("x");
        for page in 0..4 {
            let out = event(Operation::PageOut, u64::from(page), 1);
            assert_eq!(follower.event(&out, Page(page)), None);
        }
        let back = follower.event(&event(Operation::PageIn, 10, 2), Page(1)).unwrap();
        assert_eq!((back.distance, back.who), (2, ProcessIndex(2)));
        // It is in now, and page 7 was never seen.
        assert_eq!(follower.event(&event(Operation::PageIn, 11, 2), Page(1)), None);
        assert_eq!(follower.event(&event(Operation::PageIn, 12, 2), Page(7)), None);
        let paging = follower.finish(true);
        assert_eq!((paging.page_outs, paging.page_ins, paging.re_faults), (4, 3, 1));
        assert_eq!((paging.pages_out, paging.pages_never_back), (4, 3));
        assert_eq!(paging.times.unwrap().summary.unwrap().max, 9);
    }

    #[test]
    fn pages_of_an_ended_process_do_not_come_back() {
        let mut follower = Follower::new("x");
        follower.event(&event(Operation::PageOut, 0, 1), Page(0));
        follower.event(&event(Operation::PageOut, 1, 2), Page(1));
        follower.exit(ProcessIndex(1));
        assert_eq!(follower.event(&event(Operation::PageIn, 2, 3), Page(0)), None);
        assert!(follower.event(&event(Operation::PageIn, 3, 3), Page(1)).is_some());
        // The number is used again by a new process with the old one's name.
        follower.event(&event(Operation::PageOut, 4, 1), Page(0));
        assert!(follower.event(&event(Operation::PageIn, 5, 1), Page(0)).is_some());
    }
}
