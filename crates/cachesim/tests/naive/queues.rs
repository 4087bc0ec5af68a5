//! Policies with a single queue. The oldest page is in front.

use std::collections::{HashSet, VecDeque};

use super::{Naive, take};

pub(super) struct Fifo {
    capacity: usize,
    queue: VecDeque<u32>,
}

impl Fifo {
    pub(super) fn new(capacity: usize) -> Self {
        Self { capacity, queue: VecDeque::new() }
    }
}

impl Naive for Fifo {
    fn contains(&self, page: u32) -> bool {
        self.queue.contains(&page)
    }

    fn request(&mut self, page: u32) -> Option<u32> {
        if self.contains(page) {
            return None;
        }
        let full = self.queue.len() == self.capacity;
        let left = if full { self.queue.pop_front() } else { None };
        self.queue.push_back(page);
        left
    }

    fn remove(&mut self, page: u32) -> bool {
        take(&mut self.queue, page)
    }
}

pub(super) struct Lru(Fifo);

impl Lru {
    pub(super) fn new(capacity: usize) -> Self {
        Self(Fifo::new(capacity))
    }
}

impl Naive for Lru {
    fn contains(&self, page: u32) -> bool {
        self.0.contains(page)
    }

    fn request(&mut self, page: u32) -> Option<u32> {
        // A requested page goes to the end, like a new one.
        self.0.remove(page);
        self.0.request(page)
    }

    fn remove(&mut self, page: u32) -> bool {
        self.0.remove(page)
    }
}

pub(super) struct Clock {
    capacity: usize,
    queue: VecDeque<u32>,
    requested: HashSet<u32>,
}

impl Clock {
    pub(super) fn new(capacity: usize) -> Self {
        Self { capacity, queue: VecDeque::new(), requested: HashSet::new() }
    }
}

impl Naive for Clock {
    fn contains(&self, page: u32) -> bool {
        self.queue.contains(&page)
    }

    fn request(&mut self, page: u32) -> Option<u32> {
        if self.contains(page) {
            self.requested.insert(page);
            return None;
        }
        let mut left = None;
        while self.queue.len() == self.capacity {
            let oldest = self.queue.pop_front().unwrap();
            if self.requested.remove(&oldest) {
                self.queue.push_back(oldest);
            } else {
                left = Some(oldest);
            }
        }
        self.queue.push_back(page);
        left
    }

    fn remove(&mut self, page: u32) -> bool {
        self.requested.remove(&page);
        take(&mut self.queue, page)
    }
}

pub(super) struct Sieve {
    capacity: usize,
    queue: Vec<u32>,
    visited: HashSet<u32>,
    /// An index into the queue.
    hand: usize,
}

impl Sieve {
    pub(super) fn new(capacity: usize) -> Self {
        Self { capacity, queue: Vec::new(), visited: HashSet::new(), hand: 0 }
    }
}

impl Naive for Sieve {
    fn contains(&self, page: u32) -> bool {
        self.queue.contains(&page)
    }

    fn request(&mut self, page: u32) -> Option<u32> {
        if self.contains(page) {
            self.visited.insert(page);
            return None;
        }
        let mut left = None;
        if self.queue.len() == self.capacity {
            while self.visited.remove(&self.queue[self.hand]) {
                self.hand = (self.hand + 1) % self.capacity;
            }
            left = Some(self.queue.remove(self.hand));
            if self.hand == self.queue.len() {
                self.hand = 0;
            }
        }
        self.queue.push(page);
        left
    }

    fn remove(&mut self, page: u32) -> bool {
        let Some(at) = self.queue.iter().position(|other| *other == page) else { return false };
        self.queue.remove(at);
        self.visited.remove(&page);
        if at < self.hand {
            self.hand -= 1;
        }
        if self.hand == self.queue.len() {
            self.hand = 0;
        }
        true
    }
}
