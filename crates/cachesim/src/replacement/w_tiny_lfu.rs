//! W-TinyLFU: new pages pass through a small window and enter the main list only if they were
//! requested more often recently than the page that would leave for them.
//!
//! Source: Einziger, Friedman, Manes, *TinyLFU: A Highly Efficient Cache Admission
//! Policy*, ACM Transactions on Storage 2017: a window of 1 % (at least one page), a
//! segmented LRU whose protected part has 80 % of the rest, counters up to
//! 15 that are halved after requests for ten times the capacity.
//!
//! [`WTinyLfu`] counts as Caffeine does, in a shared sketch; [`WTinyLfuExact`] counts every request
//! of every page. With `climb=1` the window adapts its size as in Caffeine, but at once where
//! Caffeine moves a thousand pages at a time. Caffeine's chance of one in 128 to admit a page that
//! is no more frequent than the other is left out. Misses are close to libCacheSim's but not equal:
//! `docs/method/swap.md` says why.

use super::Replacement;
use super::climber::Climber;
pub use super::counts::Counts;
use super::frequency::Frequency;
use super::lists::{ABSENT, Lists};
use super::parameters::{Share, Slot};
use super::sketch::Sketch;
use crate::page::{Page, Space};

const WINDOW: u8 = 1;
/// In the main list, not yet requested there.
const PROBATION: u8 = 2;
/// In the main list, requested there.
const PROTECTED: u8 = 3;

/// Requests until counters are halved, for each page that fits.
const SAMPLE: u64 = 10;

/// The parameters of W-TinyLFU.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Parameters {
    /// The window's share of the capacity, at least one page.
    pub window: Share,
    /// The protected share of the rest.
    pub protected: Share,
    /// Whether the window adapts its size: 0 or 1.
    pub climb: u8,
}

impl Parameters {
    /// The values of the paper.
    pub const PAPER: Self =
        Self { window: Share::percent(1), protected: Share::percent(80), climb: 0 };

    pub(super) fn slots(&mut self) -> Vec<(&'static str, Slot<'_>)> {
        vec![
            ("window", Slot::Share(&mut self.window, 0.0..=1.0)),
            ("protected", Slot::Share(&mut self.protected, 0.0..=1.0)),
            ("climb", Slot::Count(&mut self.climb, 0..=1)),
        ]
    }
}

/// W-TinyLFU with Caffeine's sketch.
pub type WTinyLfu = Windowed<Sketch>;
/// W-TinyLFU with an exact counter for each page.
pub type WTinyLfuExact = Windowed<Frequency>;

/// The window and the two segments of the main list, the latest in front.
pub struct Windowed<C> {
    space: Space,
    max_window: u32,
    max_protected: u32,
    climber: Option<Climber>,
    counts: C,
    lists: Lists<3>,
}

impl<C: Counts> Windowed<C> {
    /// An empty cache, as in the paper.
    pub fn new(space: Space) -> Self {
        Self::with(space, Parameters::PAPER)
    }

    /// An empty cache with these parameters.
    pub fn with(space: Space, parameters: Parameters) -> Self {
        let max_window = parameters.window.of(space).max(1);
        let main = f64::from(space.capacity() - max_window);
        let sample = SAMPLE * u64::from(space.capacity());
        Self {
            space,
            max_window,
            max_protected: (main * parameters.protected.get()) as u32,
            climber: (parameters.climb > 0).then(|| Climber::new(space, sample)),
            counts: C::new(space, sample),
            lists: Lists::new(space),
        }
    }

    /// Counts a request for the climber, and moves the boundary of the window.
    fn climb(&mut self, is_hit: bool) {
        let Some(climber) = &mut self.climber else { return };
        let amount = climber.count(is_hit);
        let pages = u32::try_from(amount.unsigned_abs()).unwrap_or(u32::MAX);
        if amount > 0 {
            self.grow_window(pages);
        } else if amount < 0 {
            self.shrink_window(pages);
        }
    }

    /// Moves up to so many pages of the main list into the window, those first that would leave.
    fn grow_window(&mut self, pages: u32) {
        let most = pages.min(self.max_protected);
        self.max_protected -= most;
        while self.lists.len(PROTECTED) > self.max_protected
            && let Some(demoted) = self.lists.back(PROTECTED)
        {
            self.lists.move_to_front(PROBATION, demoted);
        }
        let mut moved = 0;
        while moved < most
            && let Some(page) = self.lists.back(PROBATION).or_else(|| self.lists.back(PROTECTED))
        {
            self.lists.move_to_front(WINDOW, page);
            moved += 1;
        }
        self.max_window += moved;
        self.max_protected += most - moved;
    }

    /// Moves up to so many pages of the window into the main list, the oldest first.
    fn shrink_window(&mut self, pages: u32) {
        let most = pages.min(self.max_window - 1);
        let mut moved = 0;
        while moved < most
            && let Some(page) = self.lists.back(WINDOW)
        {
            self.lists.move_to_front(PROBATION, page);
            moved += 1;
        }
        self.max_window -= moved;
        self.max_protected += moved;
    }

    /// Decides about the page that leaves the window. Returns the page that leaves the cache.
    fn admit_to_main(&mut self, candidate: Page) -> Option<Page> {
        if self.lists.len(PROBATION) + self.lists.len(PROTECTED)
            < self.space.capacity() - self.max_window
        {
            self.lists.push_front(PROBATION, candidate);
            return None;
        }
        let probation = self.lists.back(PROBATION);
        let victim = probation.or_else(|| self.lists.back(PROTECTED));
        match victim {
            Some(victim) if self.counts.of(candidate) > self.counts.of(victim) => {
                self.lists.take(victim);
                self.lists.push_front(PROBATION, candidate);
                Some(victim)
            }
            _ => Some(candidate),
        }
    }
}

impl<C: Counts> Replacement for Windowed<C> {
    fn contains(&self, page: Page) -> bool {
        self.lists.of(page) != ABSENT
    }

    fn hit(&mut self, page: Page) {
        self.counts.count(page);
        let list = self.lists.of(page);
        if list == PROBATION {
            self.lists.move_to_front(PROTECTED, page);
            if self.lists.len(PROTECTED) > self.max_protected
                && let Some(demoted) = self.lists.back(PROTECTED)
            {
                self.lists.move_to_front(PROBATION, demoted);
            }
        } else {
            self.lists.move_to_front(list, page);
        }
        self.climb(true);
    }

    fn admit(&mut self, page: Page) -> Option<Page> {
        self.counts.count(page);
        self.lists.push_front(WINDOW, page);
        let mut victim = None;
        if self.lists.len(WINDOW) > self.max_window {
            victim = self.lists.pop_back(WINDOW).and_then(|page| self.admit_to_main(page));
        }
        self.climb(false);
        victim
    }

    fn remove(&mut self, page: Page) -> bool {
        self.counts.forget(page);
        self.lists.take(page) != ABSENT
    }

    fn len(&self) -> u32 {
        [WINDOW, PROBATION, PROTECTED].into_iter().map(|list| self.lists.len(list)).sum()
    }

    fn space(&self) -> Space {
        self.space
    }

    fn bytes(&self) -> usize {
        self.lists.bytes() + self.counts.bytes()
    }
}
