//! Policies with a queue for new pages and one for others. The oldest page is in front.

use std::collections::{HashMap, VecDeque};

use super::{Naive, take};

pub(super) struct TwoQ {
    capacity: usize,
    a1in: VecDeque<u32>,
    a1out: VecDeque<u32>,
    am: VecDeque<u32>,
}

impl TwoQ {
    pub(super) fn new(capacity: usize) -> Self {
        let queue = VecDeque::new;
        Self { capacity, a1in: queue(), a1out: queue(), am: queue() }
    }

    fn reclaim(&mut self) -> Option<u32> {
        if self.a1in.len() + self.am.len() < self.capacity {
            return None;
        }
        if self.a1in.len() > self.capacity / 4 || self.am.is_empty() {
            let left = self.a1in.pop_front().unwrap();
            self.a1out.push_back(left);
            if self.a1out.len() > self.capacity / 2 {
                self.a1out.pop_front();
            }
            return Some(left);
        }
        self.am.pop_front()
    }
}

impl Naive for TwoQ {
    fn contains(&self, page: u32) -> bool {
        self.a1in.contains(&page) || self.am.contains(&page)
    }

    fn request(&mut self, page: u32) -> Option<u32> {
        if take(&mut self.am, page) {
            self.am.push_back(page);
            return None;
        }
        if self.a1in.contains(&page) {
            return None;
        }
        let again = take(&mut self.a1out, page);
        let left = self.reclaim();
        if again {
            self.am.push_back(page);
        } else {
            self.a1in.push_back(page);
        }
        left
    }

    fn remove(&mut self, page: u32) -> bool {
        take(&mut self.a1out, page);
        take(&mut self.a1in, page) || take(&mut self.am, page)
    }
}

pub(super) struct S3Fifo {
    capacity: usize,
    small: VecDeque<u32>,
    main: VecDeque<u32>,
    ghost: VecDeque<u32>,
    freq: HashMap<u32, u32>,
    evicted: bool,
}

impl S3Fifo {
    pub(super) fn new(capacity: usize) -> Self {
        let queue = VecDeque::new;
        Self {
            capacity,
            small: queue(),
            main: queue(),
            ghost: queue(),
            freq: HashMap::new(),
            evicted: false,
        }
    }

    fn evict(&mut self) -> u32 {
        self.evicted = true;
        let max_main = self.capacity - self.capacity / 10;
        if self.main.len() <= max_main {
            while let Some(page) = self.small.pop_front() {
                if self.freq[&page] <= 1 {
                    self.ghost.push_back(page);
                    if self.ghost.len() > self.capacity * 9 / 10 {
                        self.ghost.pop_front();
                    }
                    return page;
                }
                self.freq.insert(page, 0);
                self.main.push_back(page);
            }
        }
        loop {
            let page = self.main.pop_front().unwrap();
            if self.freq[&page] == 0 {
                return page;
            }
            *self.freq.get_mut(&page).unwrap() -= 1;
            self.main.push_back(page);
        }
    }
}

impl Naive for S3Fifo {
    fn contains(&self, page: u32) -> bool {
        self.small.contains(&page) || self.main.contains(&page)
    }

    fn request(&mut self, page: u32) -> Option<u32> {
        if self.contains(page) {
            let freq = self.freq.get_mut(&page).unwrap();
            *freq = (*freq + 1).min(3);
            return None;
        }
        let again = take(&mut self.ghost, page);
        let full = self.small.len() + self.main.len() == self.capacity;
        let left = full.then(|| self.evict());
        self.freq.insert(page, 0);
        let begin = !self.evicted && self.small.len() >= self.capacity / 10;
        if again || begin {
            self.main.push_back(page);
        } else {
            self.small.push_back(page);
        }
        left
    }

    fn remove(&mut self, page: u32) -> bool {
        take(&mut self.ghost, page);
        take(&mut self.small, page) || take(&mut self.main, page)
    }
}

/// Two segments, the lowest first.
pub(super) struct Slru {
    capacity: usize,
    was_full: bool,
    segments: [VecDeque<u32>; 2],
}

impl Slru {
    pub(super) fn new(capacity: usize) -> Self {
        Self { capacity, was_full: false, segments: [VecDeque::new(), VecDeque::new()] }
    }
}

impl Naive for Slru {
    fn contains(&self, page: u32) -> bool {
        self.segments.iter().any(|segment| segment.contains(&page))
    }

    fn request(&mut self, page: u32) -> Option<u32> {
        let half = self.capacity / 2;
        let [low, high] = &mut self.segments;
        if take(low, page) || take(high, page) {
            high.push_back(page);
            if high.len() > half {
                low.extend(high.pop_front());
            }
            return None;
        }
        let mut left = None;
        if low.len() + high.len() == self.capacity {
            self.was_full = true;
            left = low.pop_front().or_else(|| high.pop_front());
        }
        let into_high = !self.was_full && low.len() >= half && high.len() < half;
        (if into_high { high } else { low }).push_back(page);
        left
    }

    fn remove(&mut self, page: u32) -> bool {
        let [low, high] = &mut self.segments;
        take(low, page) || take(high, page)
    }
}
