//! CAR: ARC with two clocks instead of its two lists, so that a hit only sets a bit.
//!
//! Source: Bansal, Modha, *CAR: Clock with Adaptive Replacement*, FAST 2004, figure 2. The target p
//! is a real number, as in the paper.

use super::Replacement;
use super::lists::Lists;
use crate::page::{Page, Space};

/// In the cache: short-term utility.
const T1: u8 = 1;
/// In the cache: long-term utility.
const T2: u8 = 2;
/// Remembered from T1.
const B1: u8 = 3;
/// Remembered from T2.
const B2: u8 = 4;

/// The mark of a page that was requested since a hand last passed.
const REFERENCED: u32 = 1;

/// The clocks T1 and T2 with the hand at the back, and the lists B1 and B2, the latest in front.
pub struct Car {
    space: Space,
    /// The target size of T1, in pages.
    target: f64,
    lists: Lists<4>,
}

impl Car {
    /// An empty cache.
    pub fn new(space: Space) -> Self {
        Self { space, target: 0.0, lists: Lists::new(space) }
    }

    /// The paper's `replace`, in a full cache.
    fn replace(&mut self) -> Option<Page> {
        loop {
            let recent = f64::from(self.lists.len(T1)) >= self.target.max(1.0);
            let (clock, remembered) = if recent { (T1, B1) } else { (T2, B2) };
            let page = self.lists.back(clock)?;
            if self.lists.mark(page) != REFERENCED {
                self.lists.move_to_front(remembered, page);
                return Some(page);
            }
            self.lists.set_mark(page, 0);
            self.lists.move_to_front(T2, page);
        }
    }

    /// Makes room for one more remembered page.
    fn forget_one(&mut self) {
        let capacity = u64::from(self.space.capacity());
        let [t1, t2, b1, b2] = [T1, T2, B1, B2].map(|list| u64::from(self.lists.len(list)));
        if t1 + b1 >= capacity {
            self.lists.pop_back(B1);
        } else if t1 + t2 + b1 + b2 >= 2 * capacity {
            self.lists.pop_back(B2);
        }
    }
}

impl Replacement for Car {
    fn contains(&self, page: Page) -> bool {
        matches!(self.lists.of(page), T1 | T2)
    }

    fn hit(&mut self, page: Page) {
        self.lists.set_mark(page, REFERENCED);
    }

    fn admit(&mut self, page: Page) -> Option<Page> {
        let from = self.lists.of(page);
        let mut victim = None;
        if self.len() == self.space.capacity() {
            victim = self.replace();
            if !matches!(from, B1 | B2) {
                self.forget_one();
            }
        }
        let (b1, b2) = (f64::from(self.lists.len(B1)), f64::from(self.lists.len(B2)));
        match from {
            B1 => {
                let grown = self.target + (b2 / b1).max(1.0);
                self.target = grown.min(f64::from(self.space.capacity()));
                self.lists.move_to_front(T2, page);
            }
            B2 => {
                self.target = (self.target - (b1 / b2).max(1.0)).max(0.0);
                self.lists.move_to_front(T2, page);
            }
            _ => self.lists.push_front(T1, page),
        }
        self.lists.set_mark(page, 0);
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
