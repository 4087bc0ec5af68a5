//! Thrashing: episodes in which evicted pages come back quickly.

use std::collections::HashMap;

use unjank_host::Nanos;

use super::paging::ReFault;
use crate::trace::ProcessIndex;

/// The limits of thrashing.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Limits {
    /// A page comes back quickly if fewer pages than this were evicted since its own eviction.
    ///
    /// The kernel calls that number the refault distance (`mm/workingset.c`): a memory that is
    /// larger by so many pages would have kept the page.
    pub distance: u64,
    /// The minimum number of such pages per second.
    pub rate: f64,
    /// The length of the windows in which the rate is measured.
    pub window: Nanos,
}

impl Default for Limits {
    /// 64 MiB, and a hundred pages a second over one second: a tenth of the time if each waits 1 ms
    /// for flash.
    fn default() -> Self {
        Self { distance: 16_384, rate: 100.0, window: Nanos(1_000_000_000) }
    }
}

/// Consecutive windows of thrashing.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Episode {
    /// The start of the first window.
    pub start: Nanos,
    /// The end of the last window, or of the trace if that is earlier.
    pub end: Nanos,
    /// Pages that came back quickly.
    pub re_faults: u64,
    /// Different pages that came back quickly.
    pub pages: u64,
    /// The process with the most of these refaults, and their number.
    pub most: (ProcessIndex, u64),
}

/// Finds episodes. Takes 4 bytes per page, and 8 for each quick refault within a window.
pub(super) struct Finder {
    limits: Limits,
    /// The number of the current window, and the quick refaults in it.
    window: u64,
    quick: Vec<(u32, ProcessIndex)>,
    open: Option<Open>,
    episodes: Vec<Episode>,
    /// Episodes beyond those that are kept.
    pub(super) more: u64,
    /// The number of the last episode in which each page came back, counted from 1.
    seen: Vec<u32>,
    count: u32,
}

struct Open {
    first: u64,
    last: u64,
    re_faults: u64,
    pages: u64,
    by: HashMap<ProcessIndex, u64>,
}

/// The maximum number of episodes to keep.
const MAX: usize = 1_000;

impl Finder {
    pub(super) fn new(limits: Limits) -> Self {
        Self {
            limits,
            window: 0,
            quick: Vec::new(),
            open: None,
            episodes: Vec::new(),
            more: 0,
            seen: Vec::new(),
            count: 0,
        }
    }

    /// Takes a refault. If time goes backwards, it counts for the current window.
    pub(super) fn take(&mut self, back: ReFault) {
        if back.distance >= self.limits.distance {
            return;
        }
        let window = back.at.get() / self.limits.window.get().max(1);
        if window > self.window {
            self.close_window();
            self.window = window;
        }
        self.quick.push((back.page.0, back.who));
    }

    /// All episodes of a trace that ends at `end`, in the order of time.
    pub(super) fn finish(&mut self, end: Nanos) -> Vec<Episode> {
        self.close_window();
        self.close_episode();
        let mut episodes = std::mem::take(&mut self.episodes);
        if let Some(last) = episodes.last_mut() {
            last.end = last.end.min(end);
        }
        episodes
    }

    fn close_window(&mut self) {
        let seconds = self.limits.window.as_secs_f64();
        let quick = std::mem::take(&mut self.quick);
        if (quick.len() as f64) < (self.limits.rate * seconds).max(1.0) {
            return;
        }
        if self.open.as_ref().is_some_and(|open| open.last + 1 < self.window) {
            self.close_episode();
        }
        let window = self.window;
        let open = self.open.get_or_insert_with(|| {
            self.count += 1;
            Open { first: window, last: window, re_faults: 0, pages: 0, by: HashMap::new() }
        });
        open.last = window;
        open.re_faults += quick.len() as u64;
        for (page, who) in quick {
            let page = page as usize;
            if page >= self.seen.len() {
                self.seen.resize(page + 1, 0);
            }
            open.pages += u64::from(self.seen[page] != self.count);
            self.seen[page] = self.count;
            *open.by.entry(who).or_default() += 1;
        }
    }

    fn close_episode(&mut self) {
        let Some(open) = self.open.take() else { return };
        if self.episodes.len() == MAX {
            self.more += 1;
            return;
        }
        let most = open.by.into_iter().max_by_key(|(who, count)| (*count, std::cmp::Reverse(*who)));
        self.episodes.push(Episode {
            start: self.limits.window.times(open.first),
            end: self.limits.window.times(open.last + 1),
            re_faults: open.re_faults,
            pages: open.pages,
            most: most.unwrap_or_default(),
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use unjank_cachesim::Page;

    fn back(millis: u64, page: u32, distance: u64) -> ReFault {
        let who = ProcessIndex(1 + page % 3 / 2);
        ReFault { at: Nanos::from_millis(millis), page: Page(page), who, distance }
    }

    #[test]
    fn windows_of_quick_refaults_become_episodes() {
        let limits = Limits { distance: 10, rate: 5.0, window: Nanos::from_millis(1_000) };
        let mut finder = Finder::new(limits);
        // Too slow, then two windows of thrashing, one without, another of thrashing.
        for at in 0..4 {
            finder.take(back(at * 200, 0, 1));
        }
        for at in 0..12 {
            finder.take(back(1_000 + at * 160, at as u32 % 6, 9));
        }
        for at in 0..50 {
            finder.take(back(3_000 + at, 1, 10));
        }
        for at in 0..5 {
            finder.take(back(4_000 + at, 7, 0));
        }
        let episodes = finder.finish(Nanos::from_millis(4_700));
        let found: Vec<_> = episodes
            .iter()
            .map(|e| (e.start.get() / 1_000_000, e.end.get() / 1_000_000, e.re_faults, e.pages))
            .collect();
        assert_eq!(found, [(1_000, 3_000, 12, 6), (4_000, 4_700, 5, 1)]);
        assert_eq!(episodes[0].most, (ProcessIndex(1), 8));
    }

    #[test]
    fn without_refaults_there_is_no_episode() {
        assert_eq!(Finder::new(Limits::default()).finish(Nanos(1)), []);
        let none = Limits { rate: 0.0, ..Limits::default() };
        assert_eq!(
            Finder::new(none).finish(Nanos(1)),
            [],
            "a window without refaults never thrashes"
        );
    }
}
