//! MQ: eight lists by the number of requests of a page; a page that is not requested for long is
//! demoted by one list.
//!
//! Source: Zhou, Philbin, Li, *The Multi-Queue Replacement Algorithm for Second Level
//! Buffer Caches*, USENIX ATC 2001. A page requested f times is in list ⌊log₂ f⌋. The
//! paper finds the lifetime in a list and the number of remembered pages for each trace; here both
//! are four times the capacity (in requests and in pages).

use super::Replacement;
use super::links::{Links, List};
use super::parameters::{Share, Slot};
use crate::page::{Page, Space};

/// Lists of pages in the cache; one more has the remembered pages.
const MAX_QUEUES: u8 = 8;
const GHOST: u8 = MAX_QUEUES;
const ABSENT: u8 = MAX_QUEUES + 1;

/// The parameters of MQ.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Parameters {
    /// Lists of pages in the cache.
    pub queues: u8,
    /// Requests after which a page is demoted, for each page that fits.
    pub life: Share,
    /// The maximum number of remembered pages, for each page that fits.
    pub history: Share,
}

impl Parameters {
    /// Eight lists, as in the paper.
    pub const PAPER: Self =
        Self { queues: MAX_QUEUES, life: Share::percent(400), history: Share::percent(400) };

    pub(super) fn slots(&mut self) -> Vec<(&'static str, Slot<'_>)> {
        vec![
            ("queues", Slot::Count(&mut self.queues, 1..=MAX_QUEUES)),
            ("life", Slot::Share(&mut self.life, 0.001..=1_000.0)),
            ("history", Slot::Share(&mut self.history, 0.0..=1_000.0)),
        ]
    }
}

/// The state of a page besides its neighbours.
#[derive(Clone, Copy)]
struct PageState {
    /// The request after which the page is demoted. Wraps.
    expires: u32,
    queue: u8,
    /// Requests, saturating.
    requests: u8,
}

const UNKNOWN: PageState = PageState { expires: 0, queue: ABSENT, requests: 0 };

/// The lists and the queue of remembered pages, the latest in front.
pub struct Mq {
    space: Space,
    queues: u8,
    life: u32,
    max_ghosts: u32,
    /// The number of the current request. Wraps.
    now: u32,
    len: u32,
    ghosts: u32,
    known: Box<[PageState]>,
    links: Links<9>,
}

impl Mq {
    /// An empty cache, as in the paper.
    pub fn new(space: Space) -> Self {
        Self::with(space, Parameters::PAPER)
    }

    /// An empty cache with these parameters.
    pub fn with(space: Space, parameters: Parameters) -> Self {
        Self {
            space,
            queues: parameters.queues.clamp(1, MAX_QUEUES),
            // Request numbers wrap, so a lifetime must be below half of their range.
            life: parameters.life.of(space).clamp(1, u32::MAX / 4),
            max_ghosts: parameters.history.of(space),
            now: 0,
            len: 0,
            ghosts: 0,
            known: vec![UNKNOWN; space.footprint() as usize].into_boxed_slice(),
            links: Links::new(space),
        }
    }

    /// Puts a page that is in no list into the one for its number of requests.
    fn put(&mut self, page: Page, requests: u8) {
        let queue = (requests.ilog2() as u8).min(self.queues - 1);
        self.known[page.index()] = PageState { expires: self.expiry(), queue, requests };
        self.links.push_front(self.list(queue), page);
        self.adjust();
    }

    /// Demotes the oldest page of each list if its lifetime is over.
    fn adjust(&mut self) {
        self.now = self.now.wrapping_add(1);
        for queue in 1..self.queues {
            let Some(page) = self.links.back(self.list(queue)) else { continue };
            let expires = self.known[page.index()].expires;
            if (expires.wrapping_sub(self.now) as i32) < 0 {
                let expires = self.expiry();
                let known = &mut self.known[page.index()];
                known.queue = queue - 1;
                known.expires = expires;
                self.links.move_to_front(self.list(queue - 1), page);
            }
        }
    }

    fn evict(&mut self) -> Option<Page> {
        let page = (0..self.queues).find_map(|queue| self.links.back(self.list(queue)))?;
        self.links.unlink(page);
        self.len -= 1;
        if self.max_ghosts == 0 {
            self.known[page.index()] = UNKNOWN;
            return Some(page);
        }
        if self.ghosts < self.max_ghosts {
            self.ghosts += 1;
        } else if let Some(oldest) = self.links.pop_back(self.list(GHOST)) {
            self.known[oldest.index()] = UNKNOWN;
        }
        self.known[page.index()].queue = GHOST;
        self.links.push_front(self.list(GHOST), page);
        Some(page)
    }

    fn expiry(&self) -> u32 {
        self.now.wrapping_add(self.life)
    }

    fn list(&self, queue: u8) -> List {
        self.links.list(u32::from(queue))
    }
}

impl Replacement for Mq {
    fn contains(&self, page: Page) -> bool {
        self.known[page.index()].queue < GHOST
    }

    fn hit(&mut self, page: Page) {
        self.links.unlink(page);
        self.put(page, self.known[page.index()].requests.saturating_add(1));
    }

    fn admit(&mut self, page: Page) -> Option<Page> {
        let requests = self.known[page.index()].requests.saturating_add(1);
        // The page leaves the remembered ones before room is made for it.
        if self.known[page.index()].queue == GHOST {
            self.links.unlink(page);
            self.ghosts -= 1;
        }
        let full = self.len == self.space.capacity();
        let victim = if full { self.evict() } else { None };
        self.len += 1;
        self.put(page, requests);
        victim
    }

    fn remove(&mut self, page: Page) -> bool {
        let known = std::mem::replace(&mut self.known[page.index()], UNKNOWN);
        if known.queue == ABSENT {
            return false;
        }
        self.links.unlink(page);
        if known.queue == GHOST {
            self.ghosts -= 1;
            return false;
        }
        self.len -= 1;
        true
    }

    fn len(&self) -> u32 {
        self.len
    }

    fn space(&self) -> Space {
        self.space
    }

    fn bytes(&self) -> usize {
        size_of_val(&*self.known) + self.links.bytes()
    }
}
