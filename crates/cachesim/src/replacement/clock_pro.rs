//! CLOCK-Pro: LIRS with three hands over one clock, so that a hit only sets a bit.
//!
//! Pages are hot or cold by the distance between their last two requests. A new page is cold, and in a
//! test until the hand of hot pages has passed it; if it is requested again within its test, it
//! becomes hot, also if it has left the cache meanwhile.
//!
//! Source: Jiang, Chen, Zhang, *CLOCK-Pro: An Effective Improvement of the CLOCK Replacement*, USENIX
//! ATC 2005, with the adaptive number of cold pages of its section 3.4. The paper does not say with
//! which number it begins; here that is all of them.

use super::Replacement;
use super::links::{Links, List};
use crate::page::{Page, Space};

/// Not in the clock.
const ABSENT: u8 = 0;
/// In the cache.
const HOT: u8 = 1;
/// In the cache.
const COLD: u8 = 2;
/// Cold, in its test, and no longer in the cache.
const GONE: u8 = 3;

/// The mark of a page that was requested since a hand last passed.
const REFERENCED: u32 = 0b01;
/// The mark of a cold page in its test.
const IN_TEST: u32 = 0b10;

/// The clock. The hand of hot pages is at the back, so that it moves on when the last page moves to
/// the front; the two others move from the back to the front, and begin again at the back.
pub struct ClockPro {
    space: Space,
    links: Links<1>,
    kinds: Box<[u8]>,
    /// How many pages are of each kind: hot, cold, gone.
    counts: [u32; 3],
    /// The number of cold pages in a full cache at which the hands aim: 1 to the capacity.
    cold_target: u32,
    /// The page that the hand of cold pages looks at next; `None` for the back.
    cold_hand: Option<Page>,
    /// The same for the hand that ends tests.
    test_hand: Option<Page>,
}

impl ClockPro {
    /// An empty cache.
    pub fn new(space: Space) -> Self {
        Self {
            space,
            links: Links::new(space),
            kinds: vec![ABSENT; space.footprint() as usize].into_boxed_slice(),
            counts: [0; 3],
            cold_target: space.capacity(),
            cold_hand: None,
            test_hand: None,
        }
    }

    fn clock(&self) -> List {
        self.links.list(0)
    }

    fn kind(&self, page: Page) -> u8 {
        self.kinds[page.index()]
    }

    fn count(&self, kind: u8) -> u32 {
        self.counts[usize::from(kind) - 1]
    }

    fn set_kind(&mut self, page: Page, kind: u8) {
        let before = std::mem::replace(&mut self.kinds[page.index()], kind);
        if before != ABSENT {
            self.counts[usize::from(before) - 1] -= 1;
        }
        if kind != ABSENT {
            self.counts[usize::from(kind) - 1] += 1;
        }
    }

    fn has(&self, page: Page, mark: u32) -> bool {
        self.links.mark(page) & mark != 0
    }

    fn set(&mut self, page: Page, mark: u32) {
        self.links.set_mark(page, self.links.mark(page) | mark);
    }

    fn clear(&mut self, page: Page, mark: u32) {
        self.links.set_mark(page, self.links.mark(page) & !mark);
    }

    /// Moves the hands that look at a page on, because it changes its place.
    fn let_go(&mut self, page: Page) {
        let next = self.links.before(page);
        for hand in [&mut self.cold_hand, &mut self.test_hand] {
            if *hand == Some(page) {
                *hand = next;
            }
        }
    }

    fn move_to_front(&mut self, page: Page) {
        self.let_go(page);
        self.links.move_to_front(self.clock(), page);
    }

    /// Takes a page out of the clock.
    fn drop_page(&mut self, page: Page) {
        self.let_go(page);
        self.links.unlink(page);
        self.links.set_mark(page, 0);
        self.set_kind(page, ABSENT);
    }

    /// Ends the test of a page. If it was not requested meanwhile, fewer pages should be cold.
    fn end_test(&mut self, page: Page) {
        if self.has(page, IN_TEST) && !self.has(page, REFERENCED) {
            self.cold_target = (self.cold_target - 1).max(1);
        }
        self.clear(page, IN_TEST);
    }

    /// A page was requested again within its test: more pages should be cold.
    fn grow_cold(&mut self) {
        self.cold_target = (self.cold_target + 1).min(self.space.capacity());
    }

    /// The hand of hot pages makes pages cold until there are no more hot ones than `most`.
    fn run_hot(&mut self, most: u32) {
        while self.count(HOT) > most {
            let Some(page) = self.links.back(self.clock()) else { return };
            match self.kind(page) {
                HOT if self.has(page, REFERENCED) => {
                    self.clear(page, REFERENCED);
                    self.move_to_front(page);
                }
                HOT => {
                    self.set_kind(page, COLD);
                    self.move_to_front(page);
                }
                _ => self.pass_cold(page),
            }
        }
        // It stops at a hot page.
        while self.count(HOT) > 0
            && let Some(page) = self.links.back(self.clock())
            && self.kind(page) != HOT
        {
            self.pass_cold(page);
        }
    }

    /// The hand of hot pages passes a cold one.
    fn pass_cold(&mut self, page: Page) {
        self.end_test(page);
        if self.kind(page) == GONE {
            self.drop_page(page);
        } else {
            self.move_to_front(page);
        }
    }

    /// The most hot pages.
    fn most_hot(&self) -> u32 {
        self.space.capacity() - self.cold_target
    }

    /// The hand of cold pages finds the page that leaves a full cache.
    fn run_cold(&mut self) -> Option<Page> {
        loop {
            if self.count(COLD) == 0 {
                self.run_hot(self.count(HOT).checked_sub(1)?);
            }
            let page = self.cold_hand.or_else(|| self.links.back(self.clock()))?;
            self.cold_hand = self.links.before(page);
            if self.kind(page) != COLD {
                continue;
            }
            if !self.has(page, REFERENCED) {
                if self.has(page, IN_TEST) {
                    self.set_kind(page, GONE);
                    self.run_test();
                } else {
                    self.drop_page(page);
                }
                return Some(page);
            }
            self.clear(page, REFERENCED);
            self.move_to_front(page);
            if self.has(page, IN_TEST) {
                self.clear(page, IN_TEST);
                self.set_kind(page, HOT);
                self.grow_cold();
                self.run_hot(self.most_hot());
            } else {
                self.set(page, IN_TEST);
            }
        }
    }

    /// The hand of tests ends some, so that no more pages are remembered than fit.
    fn run_test(&mut self) {
        while self.count(GONE) > self.space.capacity() {
            let Some(page) = self.test_hand.or_else(|| self.links.back(self.clock())) else {
                return;
            };
            self.test_hand = self.links.before(page);
            if self.kind(page) != HOT {
                self.end_test(page);
            }
            if self.kind(page) == GONE {
                self.drop_page(page);
            }
        }
    }
}

impl Replacement for ClockPro {
    fn contains(&self, page: Page) -> bool {
        matches!(self.kind(page), HOT | COLD)
    }

    fn hit(&mut self, page: Page) {
        self.set(page, REFERENCED);
    }

    fn admit(&mut self, page: Page) -> Option<Page> {
        let was_in_test = self.kind(page) == GONE;
        if was_in_test {
            self.drop_page(page);
            self.grow_cold();
        }
        let is_full = self.len() == self.space.capacity();
        let victim = if is_full { self.run_cold() } else { None };
        self.links.push_front(self.clock(), page);
        if was_in_test {
            self.set_kind(page, HOT);
            self.run_hot(self.most_hot());
        } else {
            self.set_kind(page, COLD);
            self.set(page, IN_TEST);
        }
        victim
    }

    fn remove(&mut self, page: Page) -> bool {
        let was_there = self.contains(page);
        if self.kind(page) != ABSENT {
            self.drop_page(page);
        }
        was_there
    }

    fn len(&self) -> u32 {
        self.count(HOT) + self.count(COLD)
    }

    fn space(&self) -> Space {
        self.space
    }

    fn bytes(&self) -> usize {
        size_of_val(&*self.kinds) + self.links.bytes()
    }
}
