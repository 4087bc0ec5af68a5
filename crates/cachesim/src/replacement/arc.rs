//! ARC: a list of pages requested once and a list of pages requested more often share the cache.
//! Pages that come back show which of the two should have been larger.
//!
//! Source: Megiddo, Modha, *ARC: A Self-Tuning, Low Overhead Replacement Cache*,
//! FAST 2003, figure 4. The target p is a real number, as in the paper, so misses are equal to
//! libCacheSim's.

use super::Replacement;
use super::lists::Lists;
use crate::page::{Page, Space};

/// In the cache, requested once.
const T1: u8 = 1;
/// In the cache, requested more often.
const T2: u8 = 2;
/// Remembered from T1.
const B1: u8 = 3;
/// Remembered from T2.
const B2: u8 = 4;

/// The lists T1, T2, B1 and B2, the latest in front.
pub struct Arc {
    space: Space,
    /// The target size of T1, in pages.
    target: f64,
    lists: Lists<4>,
}

impl Arc {
    /// An empty cache.
    pub fn new(space: Space) -> Self {
        Self { space, target: 0.0, lists: Lists::new(space) }
    }

    /// The paper's REPLACE, where the cache is full.
    fn replace(&mut self, from_b2: bool) -> Option<Page> {
        if self.len() < self.space.capacity() {
            return None;
        }
        let t1 = f64::from(self.lists.len(T1));
        // Sizes are integers, so comparing them with the target is exact.
        #[expect(clippy::float_cmp, reason = "the paper's condition")]
        let at_target = t1 == self.target;
        let leaves_t1 = t1 > self.target || (from_b2 && at_target);
        let recent = self.lists.len(T1) > 0 && (leaves_t1 || self.lists.len(T2) == 0);
        let (from, to) = if recent { (T1, B1) } else { (T2, B2) };
        let page = self.lists.pop_back(from)?;
        self.lists.push_front(to, page);
        Some(page)
    }

    /// Makes room for a page that is in no list.
    fn make_room(&mut self) -> Option<Page> {
        let capacity = self.space.capacity();
        let l1 = self.lists.len(T1) + self.lists.len(B1);
        if l1 == capacity {
            if self.lists.len(T1) == capacity {
                return self.lists.pop_back(T1);
            }
            self.lists.pop_back(B1);
        } else if u64::from(l1 + self.lists.len(T2)) + u64::from(self.lists.len(B2))
            == 2 * u64::from(capacity)
        {
            self.lists.pop_back(B2);
        }
        self.replace(false)
    }
}

impl Replacement for Arc {
    fn contains(&self, page: Page) -> bool {
        matches!(self.lists.of(page), T1 | T2)
    }

    fn hit(&mut self, page: Page) {
        self.lists.move_to_front(T2, page);
    }

    fn admit(&mut self, page: Page) -> Option<Page> {
        let (b1, b2) = (f64::from(self.lists.len(B1)), f64::from(self.lists.len(B2)));
        // A remembered page leaves its list before room is made for it.
        let (list, victim) = match self.lists.take(page) {
            B1 => {
                let grown = self.target + (b2 / b1).max(1.0);
                self.target = grown.min(f64::from(self.space.capacity()));
                (T2, self.replace(false))
            }
            B2 => {
                self.target = (self.target - (b1 / b2).max(1.0)).max(0.0);
                (T2, self.replace(true))
            }
            _ => (T1, self.make_room()),
        };
        self.lists.push_front(list, page);
        victim
    }

    fn remove(&mut self, page: Page) -> bool {
        matches!(self.lists.take(page), T1 | T2)
    }

    fn len(&self) -> u32 {
        self.lists.len(T1) + self.lists.len(T2)
    }

    fn space(&self) -> Space {
        self.space
    }

    fn bytes(&self) -> usize {
        self.lists.bytes()
    }
}
