//! SIEVE: like CLOCK, but a page that stays keeps its place, and new pages go to the front of the
//! list instead of behind the hand.
//!
//! Source: Zhang, Yang, Yue, Vigfusson, Rashmi, *SIEVE is Simpler than LRU*,
//! NSDI 2024, algorithm 1.

use super::Replacement;
use super::evict_any_time::EvictAnyTime;
use super::links::{Links, List};
use crate::page::{Page, Space};

const ABSENT: u8 = 0;
const OLD: u8 = 1;
const VISITED: u8 = 2;

/// A list by arrival, and a hand that moves from its back to its front.
pub struct Sieve {
    space: Space,
    len: u32,
    marks: Box<[u8]>,
    links: Links<1>,
    arrived: List,
    /// Start of the next search; `None` is the back.
    hand: Option<Page>,
}

impl Sieve {
    /// An empty cache.
    pub fn new(space: Space) -> Self {
        let links = Links::new(space);
        let arrived = links.list(0);
        let marks = vec![ABSENT; space.footprint() as usize].into_boxed_slice();
        Self { space, len: 0, marks, links, arrived, hand: None }
    }

    fn evict(&mut self) -> Option<Page> {
        loop {
            let page = match self.hand {
                Some(page) => page,
                None => self.links.back(self.arrived)?,
            };
            self.hand = self.links.before(page);
            let mark = &mut self.marks[page.index()];
            if *mark == VISITED {
                *mark = OLD;
            } else {
                *mark = ABSENT;
                self.links.unlink(page);
                return Some(page);
            }
        }
    }
}

impl EvictAnyTime for Sieve {
    fn evict_one(&mut self) -> Option<Page> {
        let page = self.evict()?;
        self.len -= 1;
        Some(page)
    }
}

impl Replacement for Sieve {
    fn contains(&self, page: Page) -> bool {
        self.marks[page.index()] != ABSENT
    }

    fn hit(&mut self, page: Page) {
        self.marks[page.index()] = VISITED;
    }

    // Faster out of line in benches/replacement; why is not known.
    #[inline(never)]
    fn admit(&mut self, page: Page) -> Option<Page> {
        let victim = if self.len == self.space.capacity() {
            self.evict()
        } else {
            self.len += 1;
            None
        };
        self.marks[page.index()] = OLD;
        self.links.push_front(self.arrived, page);
        victim
    }

    fn remove(&mut self, page: Page) -> bool {
        let there = self.contains(page);
        if there {
            if self.hand == Some(page) {
                self.hand = self.links.before(page);
            }
            self.marks[page.index()] = ABSENT;
            self.links.unlink(page);
            self.len -= 1;
        }
        there
    }

    fn len(&self) -> u32 {
        self.len
    }

    fn space(&self) -> Space {
        self.space
    }

    fn bytes(&self) -> usize {
        size_of_val(&*self.marks) + self.links.bytes()
    }
}
