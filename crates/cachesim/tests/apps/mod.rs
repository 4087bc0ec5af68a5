//! Miniature phones: apps that are launched one after the other over a memory that holds a few of
//! them, and the requests of that memory to the levels below.

use unjank_cachesim::replacement::Lru;
use unjank_cachesim::{Page, PagingEvent, PagingKind, Replacement, Space};

/// A phone; sizes are in pages.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Phone {
    pub(crate) apps: u32,
    pub(crate) launches: u32,
    /// Pages of libraries, of which each launch touches a third.
    pub(crate) shared: u32,
    /// An app's pages that each launch touches.
    pub(crate) hot: u32,
    /// An app's pages of which each launch touches a half.
    pub(crate) warm: u32,
    /// New pages at each launch; those of the launch before are freed.
    pub(crate) cold: u32,
    pub(crate) memory: u32,
    /// The share of touches that change a page.
    pub(crate) writes: f64,
    pub(crate) seed: u64,
}

impl Phone {
    /// Nine apps, of which memory holds about two.
    pub(crate) const NINE: Self = Self {
        apps: 9,
        launches: 400,
        shared: 6_000,
        hot: 1_600,
        warm: 2_400,
        cold: 1_500,
        memory: 16_000,
        writes: 0.4,
        seed: 1,
    };

    pub(crate) fn footprint(&self) -> u32 {
        self.shared + self.apps * (self.hot + self.warm + self.cold)
    }

    /// The requests of memory. Apps are launched by Zipf's law.
    pub(crate) fn stream(&self) -> Vec<PagingEvent> {
        let mut chance = chances(self.seed);
        let space = Space::new(self.memory.into(), self.footprint().into()).unwrap();
        let pages = self.footprint() as usize;
        let mut memory = Memory {
            held: Lru::new(space),
            dirty: vec![false; pages],
            below: vec![false; pages],
            stream: Vec::new(),
        };
        // Pages of libraries have copies from the beginning.
        memory.below[..self.shared as usize].fill(true);
        for _ in 0..self.launches {
            let app = (f64::from(self.apps + 1).powf(chance()) as u32 - 1).min(self.apps - 1);
            let hot = self.shared + app * (self.hot + self.warm + self.cold);
            let (warm, cold) = (hot + self.hot, hot + self.hot + self.warm);
            (cold..cold + self.cold).for_each(|page| memory.gone(Page(page)));
            for (from, pages, share) in [
                (0, self.shared, 0.33),
                (hot, self.hot, 1.0),
                (warm, self.warm, 0.5),
                (cold, self.cold, 1.0),
            ] {
                for page in from..from + pages {
                    if chance() < share {
                        memory.touch(Page(page), chance() < self.writes);
                    }
                }
            }
        }
        memory.stream
    }
}

struct Memory {
    held: Lru,
    dirty: Vec<bool>,
    /// Whether there is a copy of the page below.
    below: Vec<bool>,
    stream: Vec<PagingEvent>,
}

impl Memory {
    fn touch(&mut self, page: Page, writes: bool) {
        let at = page.0 as usize;
        if self.held.contains(page) {
            self.held.hit(page);
        } else {
            self.dirty[at] = !self.below[at];
            if self.below[at] {
                self.stream.push(PagingEvent::new(page, PagingKind::PageIn));
            }
            if let Some(left) = self.held.admit(page) {
                let dirty = self.dirty[left.0 as usize];
                let kind = if dirty { PagingKind::PageOut } else { PagingKind::CleanDrop };
                self.below[left.0 as usize] = true;
                self.stream.push(PagingEvent::new(left, kind));
            }
        }
        self.dirty[at] |= writes;
    }

    fn gone(&mut self, page: Page) {
        if self.below[page.0 as usize] {
            self.below[page.0 as usize] = false;
            self.stream.push(PagingEvent::new(page, PagingKind::Gone));
        }
        self.held.remove(page);
    }
}

/// Random numbers from 0 to 1, the same on every machine (Knuth's MMIX generator).
pub(crate) fn chances(mut state: u64) -> impl FnMut() -> f64 {
    move || {
        state =
            state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 11) as f64 / (1u64 << 53) as f64
    }
}
