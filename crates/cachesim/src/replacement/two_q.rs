//! 2Q: new pages go through a short queue; a page that comes back after it has left that queue goes
//! to an LRU list.
//!
//! Source: Johnson, Shasha, *2Q: A Low Overhead High Performance Buffer Management
//! Replacement Algorithm*, VLDB 1994, the full version, with the paper's Kin
//! of 25 % and Kout of 50 % of the capacity, rounded down. Misses are equal to libCacheSim's. As
//! there, a page leaves A1out before room is made for it (the paper makes room first, which may
//! push out that very page).

use super::Replacement;
use super::links::{Links, List};
use super::parameters::{Share, Slot};
use crate::page::{Page, Space};

const ABSENT: u8 = 0;
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
    new: u32,
    ghosts: u32,
    main: u32,
    states: Box<[u8]>,
    links: Links<3>,
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
            new: 0,
            ghosts: 0,
            main: 0,
            states: vec![ABSENT; space.footprint() as usize].into_boxed_slice(),
            links: Links::new(space),
        }
    }

    fn evict(&mut self) -> Option<Page> {
        if self.new <= self.max_new && self.main > 0 {
            let page = self.links.pop_back(self.list(MAIN))?;
            self.main -= 1;
            self.states[page.index()] = ABSENT;
            return Some(page);
        }
        let page = self.links.pop_back(self.list(NEW))?;
        self.new -= 1;
        self.states[page.index()] = ABSENT;
        if self.max_ghosts > 0 {
            self.remember(page);
        }
        Some(page)
    }

    fn remember(&mut self, page: Page) {
        if self.ghosts < self.max_ghosts {
            self.ghosts += 1;
        } else if let Some(oldest) = self.links.pop_back(self.list(GHOST)) {
            self.states[oldest.index()] = ABSENT;
        }
        self.states[page.index()] = GHOST;
        self.links.push_front(self.list(GHOST), page);
    }

    fn list(&self, state: u8) -> List {
        self.links.list(u32::from(state) - 1)
    }

    /// Removes a page from its queue and returns the queue.
    fn take(&mut self, page: Page) -> u8 {
        let state = std::mem::replace(&mut self.states[page.index()], ABSENT);
        if state != ABSENT {
            self.links.unlink(page);
        }
        match state {
            NEW => self.new -= 1,
            GHOST => self.ghosts -= 1,
            MAIN => self.main -= 1,
            _ => {}
        }
        state
    }
}

impl Replacement for TwoQ {
    fn contains(&self, page: Page) -> bool {
        matches!(self.states[page.index()], NEW | MAIN)
    }

    fn hit(&mut self, page: Page) {
        if self.states[page.index()] == MAIN {
            self.links.move_to_front(self.list(MAIN), page);
        }
    }

    fn admit(&mut self, page: Page) -> Option<Page> {
        let remembered = self.take(page) == GHOST;
        let full = self.len() == self.space.capacity();
        let victim = if full { self.evict() } else { None };
        let state = if remembered { MAIN } else { NEW };
        *(if remembered { &mut self.main } else { &mut self.new }) += 1;
        self.states[page.index()] = state;
        self.links.push_front(self.list(state), page);
        victim
    }

    fn remove(&mut self, page: Page) -> bool {
        matches!(self.take(page), NEW | MAIN)
    }

    fn len(&self) -> u32 {
        self.new + self.main
    }

    fn space(&self) -> Space {
        self.space
    }

    fn bytes(&self) -> usize {
        size_of_val(&*self.states) + self.links.bytes()
    }
}
