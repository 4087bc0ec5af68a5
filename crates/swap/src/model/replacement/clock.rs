//! CLOCK: first in, first out, with a second chance for pages that were
//! requested since the hand last came by.
//!
//! Source: Corbató, *A Paging Experiment with the Multics System*, 1968. One bit
//! a page; a page starts without it.

use super::Replacement;
use super::queues::Queues;
use crate::model::page::{Page, Space};

const ABSENT: u8 = 0;
const OLD: u8 = 1;
const REQUESTED: u8 = 2;

/// Pages around a clock's face, and a hand at the oldest.
///
/// The face is a queue whose back is where the hand points: a page that stays
/// goes to the front.
pub struct Clock {
    space: Space,
    len: u32,
    marks: Box<[u8]>,
    face: Queues<1>,
}

impl Clock {
    /// An empty cache.
    pub fn new(space: Space) -> Self {
        let marks = vec![ABSENT; space.footprint() as usize].into_boxed_slice();
        let face = Queues::new(space.capacity(), space.footprint(), 1);
        Self { space, len: 0, marks, face }
    }

    /// Takes out the page that would leave next.
    pub fn take_out(&mut self) -> Option<Page> {
        let page = self.evict()?;
        self.len -= 1;
        Some(page)
    }

    fn evict(&mut self) -> Option<Page> {
        loop {
            let page = self.face.pop(0)?;
            let mark = &mut self.marks[page.index()];
            if *mark == REQUESTED {
                *mark = OLD;
                self.face.push(0, page);
            } else {
                *mark = ABSENT;
                return Some(page);
            }
        }
    }
}

impl Replacement for Clock {
    fn contains(&self, page: Page) -> bool {
        self.marks[page.index()] != ABSENT
    }

    fn hit(&mut self, page: Page) {
        self.marks[page.index()] = REQUESTED;
    }

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
