//! W-TinyLFU: new pages pass through a small window and enter the main list only if they were
//! requested more often recently than the page that would leave for them.
//!
//! Source: Einziger, Friedman, Manes, *TinyLFU: A Highly Efficient Cache Admission
//! Policy*, ACM Transactions on Storage 2017: a window of 1 % (at least one page), a
//! segmented LRU whose protected part has 80 % of the rest, counters up to
//! 15 that are halved after requests for ten times the capacity.
//!
//! [`WTinyLfu`] counts as Caffeine does, in a shared sketch; [`WTinyLfuExact`] counts every request
//! of every page. Two parts of Caffeine are left out: the window that adapts its size, and the
//! chance of one in 128 to admit a page that is no more frequent than the other. Misses are close
//! to libCacheSim's but not equal: `docs/method/swap.md` says why.

use super::Replacement;
pub use super::counts::Counts;
use super::frequency::Frequency;
use super::links::{Links, List};
use super::parameters::{Share, Slot};
use super::sketch::Sketch;
use crate::page::{Page, Space};

const ABSENT: u8 = 0;
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
}

impl Parameters {
    /// The values of the paper.
    pub const PAPER: Self = Self { window: Share::percent(1), protected: Share::percent(80) };

    pub(super) fn slots(&mut self) -> Vec<(&'static str, Slot<'_>)> {
        vec![
            ("window", Slot::Share(&mut self.window, 0.0..=1.0)),
            ("protected", Slot::Share(&mut self.protected, 0.0..=1.0)),
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
    /// Sizes of the lists, indexed by state.
    sizes: [u32; 4],
    counts: C,
    states: Box<[u8]>,
    links: Links<3>,
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
        Self {
            space,
            max_window,
            max_protected: (main * parameters.protected.get()) as u32,
            sizes: [0; 4],
            counts: C::new(space, SAMPLE * u64::from(space.capacity())),
            states: vec![ABSENT; space.footprint() as usize].into_boxed_slice(),
            links: Links::new(space),
        }
    }

    fn size(&self, list: u8) -> u32 {
        self.sizes[usize::from(list)]
    }

    /// Decides about the page that leaves the window. Returns the page that leaves the cache.
    fn admit_to_main(&mut self, candidate: Page) -> Option<Page> {
        if self.size(PROBATION) + self.size(PROTECTED) < self.space.capacity() - self.max_window {
            self.put(PROBATION, candidate);
            return None;
        }
        let probation = self.links.back(self.list(PROBATION));
        let victim = probation.or_else(|| self.links.back(self.list(PROTECTED)));
        match victim {
            Some(victim) if self.counts.of(candidate) > self.counts.of(victim) => {
                self.take(victim);
                self.put(PROBATION, candidate);
                Some(victim)
            }
            _ => Some(candidate),
        }
    }

    fn put(&mut self, list: u8, page: Page) {
        self.sizes[usize::from(list)] += 1;
        self.states[page.index()] = list;
        self.links.push_front(self.list(list), page);
    }

    /// Removes a page from its list and returns the list.
    fn take(&mut self, page: Page) -> u8 {
        let list = std::mem::replace(&mut self.states[page.index()], ABSENT);
        if list != ABSENT {
            self.links.unlink(page);
            self.sizes[usize::from(list)] -= 1;
        }
        list
    }

    fn list(&self, state: u8) -> List {
        self.links.list(u32::from(state) - 1)
    }
}

impl<C: Counts> Replacement for Windowed<C> {
    fn contains(&self, page: Page) -> bool {
        self.states[page.index()] != ABSENT
    }

    fn hit(&mut self, page: Page) {
        self.counts.count(page);
        let list = self.states[page.index()];
        if list != PROBATION {
            self.links.move_to_front(self.list(list), page);
            return;
        }
        self.take(page);
        self.put(PROTECTED, page);
        if self.size(PROTECTED) > self.max_protected
            && let Some(demoted) = self.links.back(self.list(PROTECTED))
        {
            self.take(demoted);
            self.put(PROBATION, demoted);
        }
    }

    fn admit(&mut self, page: Page) -> Option<Page> {
        self.counts.count(page);
        self.put(WINDOW, page);
        if self.size(WINDOW) <= self.max_window {
            return None;
        }
        let candidate = self.links.back(self.list(WINDOW))?;
        self.take(candidate);
        self.admit_to_main(candidate)
    }

    fn remove(&mut self, page: Page) -> bool {
        self.counts.forget(page);
        self.take(page) != ABSENT
    }

    fn len(&self) -> u32 {
        self.sizes.iter().sum()
    }

    fn space(&self) -> Space {
        self.space
    }

    fn bytes(&self) -> usize {
        size_of_val(&*self.states) + self.links.bytes() + self.counts.bytes()
    }
}
