//! First in, first out: evicts the page that was admitted first.

use super::Replacement;
use super::evict_any_time::EvictAnyTime;
use super::queues::Queues;
use crate::page::{Page, Space};

/// A queue by arrival.
///
/// A hit reads one byte per page and nothing else.
pub struct Fifo {
    space: Space,
    len: u32,
    here: Box<[bool]>,
    arrived: Queues<1>,
}

impl Fifo {
    /// An empty cache.
    pub fn new(space: Space) -> Self {
        let here = vec![false; space.footprint() as usize].into_boxed_slice();
        let arrived = Queues::new(space.capacity(), space.footprint(), 1);
        Self { space, len: 0, here, arrived }
    }
}

impl EvictAnyTime for Fifo {
    fn evict_one(&mut self) -> Option<Page> {
        let page = self.arrived.pop(0)?;
        self.here[page.index()] = false;
        self.len -= 1;
        Some(page)
    }
}

impl Replacement for Fifo {
    fn contains(&self, page: Page) -> bool {
        self.here[page.index()]
    }

    fn hit(&mut self, _page: Page) {}

    fn admit(&mut self, page: Page) -> Option<Page> {
        let victim = if self.len == self.space.capacity() {
            self.arrived.pop(0)
        } else {
            self.len += 1;
            None
        };
        if let Some(victim) = victim {
            self.here[victim.index()] = false;
        }
        self.here[page.index()] = true;
        self.arrived.push(0, page);
        victim
    }

    fn remove(&mut self, page: Page) -> bool {
        let there = self.contains(page);
        if there {
            self.here[page.index()] = false;
            self.arrived.take(0, page);
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
        size_of_val(&*self.here) + self.arrived.bytes()
    }
}
