//! Least recently used: evicts the page whose last request is longest ago.

use super::Replacement;
use super::evict_any_time::EvictAnyTime;
use super::links::{Links, List};
use crate::page::{Page, Space};

/// A list by last request, the latest in front.
pub struct Lru {
    space: Space,
    len: u32,
    links: Links<1>,
    recent: List,
}

impl Lru {
    /// An empty cache.
    pub fn new(space: Space) -> Self {
        let links = Links::new(space);
        let recent = links.list(0);
        Self { space, len: 0, links, recent }
    }

    /// The page whose last request is longest ago.
    pub fn oldest(&self) -> Option<Page> {
        self.links.back(self.recent)
    }

    /// Evicts the page whose last request is longest ago.
    pub fn evict(&mut self) -> Option<Page> {
        let page = self.links.pop_back(self.recent)?;
        self.len -= 1;
        Some(page)
    }
}

impl EvictAnyTime for Lru {
    fn evict_one(&mut self) -> Option<Page> {
        self.evict()
    }
}

impl Replacement for Lru {
    fn contains(&self, page: Page) -> bool {
        self.links.linked(page)
    }

    fn hit(&mut self, page: Page) {
        self.links.move_to_front(self.recent, page);
    }

    fn admit(&mut self, page: Page) -> Option<Page> {
        let victim = if self.len == self.space.capacity() {
            self.links.pop_back(self.recent)
        } else {
            self.len += 1;
            None
        };
        self.links.push_front(self.recent, page);
        victim
    }

    fn remove(&mut self, page: Page) -> bool {
        let there = self.contains(page);
        if there {
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
        self.links.bytes()
    }
}
