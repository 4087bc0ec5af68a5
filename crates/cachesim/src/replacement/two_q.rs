//! 2Q: new pages go through a short queue; a page that comes back after it has left that queue goes
//! to an LRU list.
//!
//! Source: Johnson, Shasha, *2Q: A Low Overhead High Performance Buffer Management
//! Replacement Algorithm*, VLDB 1994, the full version, with the paper's Kin
//! of 25 % and Kout of 50 % of the capacity, rounded down. Misses are equal to libCacheSim's. As
//! there, a page leaves A1out before room is made for it (the paper makes room first, which may
//! push out that very page).

use super::Replacement;
use super::lists::Lists;
use super::parameters::{Share, Slot};
use crate::page::{Page, Space};

/// In A1in: in the cache, by arrival.
const NEW: u8 = 1;
/// In A1out: remembered.
const GHOST: u8 = 2;
/// In Am: in the cache, by last request.
const MAIN: u8 = 3;

/// The parameters of 2Q.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Parameters {
    /// The size of A1in above which pages are evicted from it.
    pub kin: Share,
    /// The capacity of A1out.
    pub kout: Share,
}

impl Parameters {
    /// The values of the paper.
    pub const PAPER: Self = Self { kin: Share::percent(25), kout: Share::percent(50) };

    pub(super) fn slots(&mut self) -> Vec<(&'static str, Slot<'_>)> {
        vec![
            ("kin", Slot::Share(&mut self.kin, 0.0..=1.0)),
            ("kout", Slot::Share(&mut self.kout, 0.0..=1_000.0)),
        ]
    }
}

/// The queues A1in and A1out, and the list Am.
pub struct TwoQ {
    space: Space,
    max_new: u32,
    max_ghosts: u32,
    lists: Lists<3>,
}

impl TwoQ {
    /// An empty cache, as in the paper.
    pub fn new(space: Space) -> Self {
        Self::with(space, Parameters::PAPER)
    }

    /// An empty cache with these parameters.
    pub fn with(space: Space, parameters: Parameters) -> Self {
        Self {
            space,
            max_new: parameters.kin.of(space),
            max_ghosts: parameters.kout.of(space),
            lists: Lists::new(space),
        }
    }

    fn evict(&mut self) -> Option<Page> {
        if self.lists.len(NEW) <= self.max_new && self.lists.len(MAIN) > 0 {
            return self.lists.pop_back(MAIN);
        }
        let page = self.lists.pop_back(NEW)?;
        if self.max_ghosts > 0 {
            if self.lists.len(GHOST) >= self.max_ghosts {
                self.lists.pop_back(GHOST);
            }
            self.lists.push_front(GHOST, page);
        }
        Some(page)
    }
}

impl Replacement for TwoQ {
    fn contains(&self, page: Page) -> bool {
        matches!(self.lists.of(page), NEW | MAIN)
    }

    fn hit(&mut self, page: Page) {
        if self.lists.of(page) == MAIN {
            self.lists.move_to_front(MAIN, page);
        }
    }

    fn admit(&mut self, page: Page) -> Option<Page> {
        let remembered = self.lists.take(page) == GHOST;
        let full = self.len() == self.space.capacity();
        let victim = if full { self.evict() } else { None };
        self.lists.push_front(if remembered { MAIN } else { NEW }, page);
        victim
    }

    fn remove(&mut self, page: Page) -> bool {
        matches!(self.lists.take(page), NEW | MAIN)
    }

    fn len(&self) -> u32 {
        self.lists.len(NEW) + self.lists.len(MAIN)
    }

    fn space(&self) -> Space {
        self.space
    }

    fn bytes(&self) -> usize {
        self.lists.bytes()
    }
}
