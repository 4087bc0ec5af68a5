//! ARC: a list of pages requested once and a list of pages requested more often share the cache.
//! Pages that come back show which of the two should have been larger.
//!
//! Source: Megiddo, Modha, *ARC: A Self-Tuning, Low Overhead Replacement Cache*,
//! FAST 2003, figure 4. The target p is a real number, as in the paper, so misses are equal to
//! libCacheSim's.

use super::Replacement;
use super::links::{Links, List};
use crate::page::{Page, Space};

const ABSENT: u8 = 0;
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
    /// Sizes of the lists, indexed by state.
    sizes: [u32; 5],
    states: Box<[u8]>,
    links: Links<4>,
}

impl Arc {
    /// An empty cache.
    pub fn new(space: Space) -> Self {
        Self {
            space,
            target: 0.0,
            sizes: [0; 5],
            states: vec![ABSENT; space.footprint() as usize].into_boxed_slice(),
            links: Links::new(space),
        }
    }

    fn size(&self, list: u8) -> u32 {
        self.sizes[usize::from(list)]
    }

    /// The paper's REPLACE, where the cache is full.
    fn replace(&mut self, from_b2: bool) -> Option<Page> {
        if self.len() < self.space.capacity() {
            return None;
        }
        let t1 = f64::from(self.size(T1));
        // Sizes are integers, so comparing them with the target is exact.
        #[expect(clippy::float_cmp, reason = "the paper's condition")]
        let at_target = t1 == self.target;
        let leaves_t1 = t1 > self.target || (from_b2 && at_target);
        let recent = self.size(T1) > 0 && (leaves_t1 || self.size(T2) == 0);
        let (from, to) = if recent { (T1, B1) } else { (T2, B2) };
        let page = self.drop_last(from)?;
        self.put(to, page);
        Some(page)
    }

    /// Makes room for a page that is in no list.
    fn make_room(&mut self) -> Option<Page> {
        let capacity = self.space.capacity();
        let l1 = self.size(T1) + self.size(B1);
        if l1 == capacity {
            if self.size(T1) == capacity {
                return self.drop_last(T1);
            }
            self.drop_last(B1);
        } else if u64::from(l1 + self.size(T2)) + u64::from(self.size(B2))
            == 2 * u64::from(capacity)
        {
            self.drop_last(B2);
        }
        self.replace(false)
    }

    fn drop_last(&mut self, list: u8) -> Option<Page> {
        let page = self.links.back(self.list(list))?;
        self.take(page);
        Some(page)
    }

    fn put(&mut self, list: u8, page: Page) {
        self.sizes[usize::from(list)] += 1;
        self.states[page.index()] = list;
        self.links.push_front(self.list(list), page);
    }

    /// Removes a page from its list and returns the list.
    fn take(&mut self, page: Page) -> u8 {
        let list = std::mem::replace(&mut self.states[page.index()], ABSENT);
        if list != ABSENT {
            self.links.unlink(page);
            self.sizes[usize::from(list)] -= 1;
        }
        list
    }

    fn list(&self, state: u8) -> List {
        self.links.list(u32::from(state) - 1)
    }
}

impl Replacement for Arc {
    fn contains(&self, page: Page) -> bool {
        matches!(self.states[page.index()], T1 | T2)
    }

    fn hit(&mut self, page: Page) {
        if self.states[page.index()] == T1 {
            self.sizes[usize::from(T1)] -= 1;
            self.sizes[usize::from(T2)] += 1;
            self.states[page.index()] = T2;
        }
        self.links.move_to_front(self.list(T2), page);
    }

    fn admit(&mut self, page: Page) -> Option<Page> {
        let (b1, b2) = (f64::from(self.size(B1)), f64::from(self.size(B2)));
        // A remembered page leaves its list before room is made for it.
        let (list, victim) = match self.take(page) {
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
        self.put(list, page);
        victim
    }

    fn remove(&mut self, page: Page) -> bool {
        matches!(self.take(page), T1 | T2)
    }

    fn len(&self) -> u32 {
        self.size(T1) + self.size(T2)
    }

    fn space(&self) -> Space {
        self.space
    }

    fn bytes(&self) -> usize {
        size_of_val(&*self.states) + self.links.bytes()
    }
}
