//! S3-FIFO: three FIFO queues. New pages go through a small one; pages that are requested twice
//! there, or come back soon after, go to the main one.
//!
//! Source: Yang, Zhang, Qiu, Yue, Rashmi, *FIFO Queues are All You Need for Cache
//! Eviction*, SOSP 2023, algorithm 1, with its parameters: the small queue has
//! 10 % of the capacity, the ghost queue as many pages as the main queue has room for (libCacheSim:
//! 90 % of the capacity), and two requests move a page.
//!
//! As in libCacheSim, pages go straight to the main queue while the cache fills for the first time
//! and the small queue is full; the paper does not cover this case. Misses are equal to
//! libCacheSim's if the small queue has room for two pages or more. (With less, libCacheSim caches
//! nothing.)

use super::Replacement;
use super::parameters::{Share, Slot};
use super::queues::Queues;
use crate::page::{Page, Space};

const ABSENT: u8 = 0;
const SMALL: u8 = 1;
const MAIN: u8 = 2;
const GHOST: u8 = 3;

/// The queue in which a page is.
const QUEUE: u8 = 0b11;
/// One request, in the bits above the queue.
const REQUEST: u8 = 0b100;
const MAX_REQUESTS: u8 = 3 * REQUEST;

/// The parameters of S3-FIFO.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Parameters {
    /// The capacity of the small queue.
    pub small: Share,
    /// The capacity of the ghost queue.
    pub ghost: Share,
    /// The number of requests that moves a page from the small queue to the main one.
    pub moves: u8,
}

impl Parameters {
    /// The values of the paper and of libCacheSim.
    pub const PAPER: Self = Self { small: Share::percent(10), ghost: Share::percent(90), moves: 2 };

    pub(super) fn slots(&mut self) -> Vec<(&'static str, Slot<'_>)> {
        vec![
            ("small", Slot::Share(&mut self.small, 0.0..=0.99)),
            ("ghost", Slot::Share(&mut self.ghost, 0.0..=1_000.0)),
            ("moves", Slot::Count(&mut self.moves, 1..=3)),
        ]
    }
}

/// The small, the main and the ghost queue.
pub struct S3Fifo {
    space: Space,
    max_small: u32,
    max_ghosts: u32,
    /// Requests that move a page, in the encoding of `states`.
    moving: u8,
    small: u32,
    main: u32,
    ghosts: u32,
    /// Whether no page was evicted so far.
    filling: bool,
    states: Box<[u8]>,
    queues: Queues<3>,
}

impl S3Fifo {
    /// An empty cache, as in the paper.
    pub fn new(space: Space) -> Self {
        Self::with(space, Parameters::PAPER)
    }

    /// An empty cache with these parameters.
    pub fn with(space: Space, parameters: Parameters) -> Self {
        let ghosts = parameters.ghost.of(space);
        // Ghosts are often taken from the middle.
        let taken_from = index(GHOST);
        let most = space.capacity().saturating_add(ghosts);
        let queues = Queues::new(most, space.footprint(), taken_from);
        Self {
            space,
            max_small: parameters.small.of(space),
            max_ghosts: ghosts,
            moving: parameters.moves.min(3) * REQUEST,
            small: 0,
            main: 0,
            ghosts: 0,
            filling: true,
            states: vec![ABSENT; space.footprint() as usize].into_boxed_slice(),
            queues,
        }
    }

    fn evict(&mut self) -> Option<Page> {
        let max_main = self.space.capacity() - self.max_small;
        if self.main <= max_main {
            while let Some(page) = self.pop(SMALL) {
                if self.states[page.index()] & !QUEUE < self.moving {
                    self.remember(page);
                    return Some(page);
                }
                self.put(MAIN, page);
            }
        }
        loop {
            let page = self.queues.pop(index(MAIN))?;
            let state = &mut self.states[page.index()];
            if *state < REQUEST {
                *state = ABSENT;
                self.main -= 1;
                return Some(page);
            }
            *state -= REQUEST;
            self.queues.push(index(MAIN), page);
        }
    }

    fn remember(&mut self, page: Page) {
        if self.max_ghosts == 0 {
            self.states[page.index()] = ABSENT;
            return;
        }
        if self.ghosts == self.max_ghosts
            && let Some(oldest) = self.pop(GHOST)
        {
            self.states[oldest.index()] = ABSENT;
        }
        self.put(GHOST, page);
    }

    fn put(&mut self, queue: u8, page: Page) {
        *self.count(queue) += 1;
        self.states[page.index()] = queue;
        self.queues.push(index(queue), page);
    }

    fn pop(&mut self, queue: u8) -> Option<Page> {
        let page = self.queues.pop(index(queue))?;
        *self.count(queue) -= 1;
        Some(page)
    }

    /// Removes a page from its queue and returns the queue.
    fn take(&mut self, page: Page) -> u8 {
        let queue = self.states[page.index()] & QUEUE;
        if queue != ABSENT {
            self.states[page.index()] = ABSENT;
            self.queues.take(index(queue), page);
            *self.count(queue) -= 1;
        }
        queue
    }

    fn count(&mut self, queue: u8) -> &mut u32 {
        match queue {
            SMALL => &mut self.small,
            MAIN => &mut self.main,
            _ => &mut self.ghosts,
        }
    }
}

/// The index of a queue in [`Queues`].
fn index(queue: u8) -> usize {
    usize::from(queue) - 1
}

impl Replacement for S3Fifo {
    fn contains(&self, page: Page) -> bool {
        matches!(self.states[page.index()] & QUEUE, SMALL | MAIN)
    }

    fn hit(&mut self, page: Page) {
        let state = &mut self.states[page.index()];
        if *state < MAX_REQUESTS {
            *state += REQUEST;
        }
    }

    fn admit(&mut self, page: Page) -> Option<Page> {
        let remembered = self.take(page) == GHOST;
        let full = self.len() == self.space.capacity();
        self.filling &= !full;
        let victim = if full { self.evict() } else { None };
        let straight = self.filling && self.small >= self.max_small;
        self.put(if remembered || straight { MAIN } else { SMALL }, page);
        victim
    }

    fn remove(&mut self, page: Page) -> bool {
        matches!(self.take(page), SMALL | MAIN)
    }

    fn len(&self) -> u32 {
        self.small + self.main
    }

    fn space(&self) -> Space {
        self.space
    }

    fn bytes(&self) -> usize {
        size_of_val(&*self.states) + self.queues.bytes()
    }
}
