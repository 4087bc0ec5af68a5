//! SLRU: segments in which pages rise with each request. A page that leaves a full segment goes to
//! the one below, and pages leave the cache from the lowest.
//!
//! Source: Karedla, Love, Wherry, *Caching Strategies to Improve Disk System Performance*, IEEE
//! Computer 1994, which has two segments. All segments have the same size. While the cache
//! fills for the first time, a new page goes to the lowest segment that has room, as in
//! libCacheSim.

use super::Replacement;
use super::lists::{ABSENT, Lists};
use super::parameters::Slot;
use crate::page::{Page, Space};

const MAX_SEGMENTS: u8 = 8;
/// The lowest segment.
const LOWEST: u8 = 1;

/// The parameters of SLRU.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Parameters {
    /// The number of segments.
    pub segments: u8,
}

impl Parameters {
    /// The values of the paper.
    pub const PAPER: Self = Self { segments: 2 };

    pub(super) fn slots(&mut self) -> Vec<(&'static str, Slot<'_>)> {
        vec![("segments", Slot::Count(&mut self.segments, 1..=MAX_SEGMENTS))]
    }
}

/// The segments from the lowest to the highest, the latest page of each in front.
pub struct Slru {
    space: Space,
    highest: u8,
    /// The maximum number of pages of a segment.
    max: u32,
    len: u32,
    /// Whether the cache was full once.
    was_full: bool,
    segments: Lists<{ MAX_SEGMENTS as usize }>,
}

impl Slru {
    /// An empty cache, as in the paper.
    pub fn new(space: Space) -> Self {
        Self::with(space, Parameters::PAPER)
    }

    /// An empty cache with these parameters.
    pub fn with(space: Space, parameters: Parameters) -> Self {
        let highest = parameters.segments.clamp(1, MAX_SEGMENTS);
        let max = space.capacity() / u32::from(highest);
        Self { space, highest, max, len: 0, was_full: false, segments: Lists::new(space) }
    }

    fn evict(&mut self) -> Option<Page> {
        (LOWEST..=self.highest).find_map(|segment| self.segments.pop_back(segment))
    }
}

impl Replacement for Slru {
    fn contains(&self, page: Page) -> bool {
        self.segments.of(page) != ABSENT
    }

    fn hit(&mut self, page: Page) {
        let from = self.segments.of(page);
        let to = (from + 1).min(self.highest);
        self.segments.move_to_front(to, page);
        if self.segments.len(to) > self.max
            && from != to
            && let Some(fallen) = self.segments.back(to)
        {
            self.segments.move_to_front(from, fallen);
        }
    }

    fn admit(&mut self, page: Page) -> Option<Page> {
        let victim = if self.len == self.space.capacity() {
            self.was_full = true;
            self.evict()
        } else {
            self.len += 1;
            None
        };
        let has_room = |segment: &u8| self.segments.len(*segment) < self.max;
        let lowest_with_room = || (LOWEST..=self.highest).find(has_room).unwrap_or(LOWEST);
        let to = if self.was_full { LOWEST } else { lowest_with_room() };
        self.segments.push_front(to, page);
        victim
    }

    fn remove(&mut self, page: Page) -> bool {
        let there = self.segments.take(page) != ABSENT;
        self.len -= u32::from(there);
        there
    }

    fn len(&self) -> u32 {
        self.len
    }

    fn space(&self) -> Space {
        self.space
    }

    fn bytes(&self) -> usize {
        self.segments.bytes()
    }
}
