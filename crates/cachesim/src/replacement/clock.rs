//! CLOCK: first in, first out, with a second chance for pages that were requested since the hand
//! last passed.
//!
//! Source: Corbató, *A Paging Experiment with the Multics System*, 1968. One bit per page, which
//! starts at 0. With more bits, requests are counted, and the hand decrements the count.

use super::Replacement;
use super::evict_any_time::EvictAnyTime;
use super::parameters::Slot;
use super::queues::Queues;
use crate::page::{Page, Space};

const ABSENT: u8 = 0;
const OLD: u8 = 1;

/// The parameters of CLOCK.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Parameters {
    /// Bits of the request counter.
    pub bits: u8,
}

impl Parameters {
    /// The values of the paper.
    pub const PAPER: Self = Self { bits: 1 };

    pub(super) fn slots(&mut self) -> Vec<(&'static str, Slot<'_>)> {
        vec![("bits", Slot::Count(&mut self.bits, 1..=6))]
    }
}

/// Pages on a clock face, and a hand at the oldest.
///
/// The face is a queue with the hand at its back: a page that stays goes to the front.
pub struct Clock {
    space: Space,
    len: u32,
    /// The largest mark.
    most: u8,
    /// [`OLD`] plus the number of counted requests.
    marks: Box<[u8]>,
    face: Queues<1>,
}

impl Clock {
    /// An empty cache, as in the paper.
    pub fn new(space: Space) -> Self {
        Self::with(space, Parameters::PAPER)
    }

    /// An empty cache with these parameters.
    pub fn with(space: Space, parameters: Parameters) -> Self {
        let most = OLD + ((1 << parameters.bits.min(6)) - 1);
        let marks = vec![ABSENT; space.footprint() as usize].into_boxed_slice();
        let face = Queues::new(space.capacity(), space.footprint(), 1);
        Self { space, len: 0, most, marks, face }
    }

    /// Evicts the next page.
    pub fn take_out(&mut self) -> Option<Page> {
        let page = self.evict()?;
        self.len -= 1;
        Some(page)
    }

    fn evict(&mut self) -> Option<Page> {
        loop {
            let page = self.face.pop(0)?;
            let mark = &mut self.marks[page.index()];
            if *mark > OLD {
                *mark -= 1;
                self.face.push(0, page);
            } else {
                *mark = ABSENT;
                return Some(page);
            }
        }
    }
}

impl EvictAnyTime for Clock {
    fn evict_one(&mut self) -> Option<Page> {
        self.take_out()
    }
}

impl Replacement for Clock {
    fn contains(&self, page: Page) -> bool {
        self.marks[page.index()] != ABSENT
    }

    fn hit(&mut self, page: Page) {
        let mark = &mut self.marks[page.index()];
        *mark = (*mark + 1).min(self.most);
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
        self.face.push(0, page);
        victim
    }

    fn remove(&mut self, page: Page) -> bool {
        let there = self.contains(page);
        if there {
            self.marks[page.index()] = ABSENT;
            self.face.take(0, page);
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
        size_of_val(&*self.marks) + self.face.bytes()
    }
}
