//! Those that count requests. The oldest is in front.

use std::collections::{HashMap, VecDeque};

use super::{Naive, take};

pub(super) struct WTinyLfu {
    capacity: usize,
    window: VecDeque<u32>,
    probation: VecDeque<u32>,
    protected: VecDeque<u32>,
    counters: HashMap<u32, u32>,
    counted: usize,
}

impl WTinyLfu {
    pub(super) fn new(capacity: usize) -> Self {
        let list = VecDeque::new;
        Self {
            capacity,
            window: list(),
            probation: list(),
            protected: list(),
            counters: HashMap::new(),
            counted: 0,
        }
    }

    fn sizes(&self) -> (usize, usize, usize) {
        let window = (self.capacity / 100).max(1);
        let main = self.capacity - window;
        (window, main, main * 4 / 5)
    }

    fn count(&mut self, page: u32) {
        let counter = self.counters.entry(page).or_default();
        *counter = (*counter + 1).min(15);
        self.counted += 1;
        if self.counted == 10 * self.capacity {
            self.counted /= 2;
            self.counters.values_mut().for_each(|counter| *counter /= 2);
        }
    }

    fn counter(&self, page: u32) -> u32 {
        self.counters.get(&page).copied().unwrap_or(0)
    }
}

impl Naive for WTinyLfu {
    fn contains(&self, page: u32) -> bool {
        [&self.window, &self.probation, &self.protected].iter().any(|list| list.contains(&page))
    }

    fn request(&mut self, page: u32) -> Option<u32> {
        let (window, main, protected) = self.sizes();
        self.count(page);
        if take(&mut self.window, page) {
            self.window.push_back(page);
            return None;
        }
        if take(&mut self.probation, page) || take(&mut self.protected, page) {
            self.protected.push_back(page);
            if self.protected.len() > protected {
                self.probation.extend(self.protected.pop_front());
            }
            return None;
        }
        self.window.push_back(page);
        if self.window.len() <= window {
            return None;
        }
        let candidate = self.window.pop_front().unwrap();
        if self.probation.len() + self.protected.len() < main {
            self.probation.push_back(candidate);
            return None;
        }
        let list = if self.probation.is_empty() { &self.protected } else { &self.probation };
        let Some(victim) = list.front().copied() else { return Some(candidate) };
        if self.counter(candidate) <= self.counter(victim) {
            return Some(candidate);
        }
        let _taken = take(&mut self.probation, victim) || take(&mut self.protected, victim);
        self.probation.push_back(candidate);
        Some(victim)
    }

    fn remove(&mut self, page: u32) -> bool {
        self.counters.remove(&page);
        take(&mut self.window, page)
            || take(&mut self.probation, page)
            || take(&mut self.protected, page)
    }
}

pub(super) struct Mq {
    capacity: usize,
    now: usize,
    queues: [VecDeque<u32>; 8],
    out: VecDeque<u32>,
    /// References and the time at which they expire.
    blocks: HashMap<u32, (u64, usize)>,
}

impl Mq {
    pub(super) fn new(capacity: usize) -> Self {
        Self {
            capacity,
            now: 0,
            queues: Default::default(),
            out: VecDeque::new(),
            blocks: HashMap::new(),
        }
    }

    fn adjust(&mut self) {
        self.now += 1;
        for k in 1..8 {
            let Some(head) = self.queues[k].front().copied() else { continue };
            let block = self.blocks.get_mut(&head).unwrap();
            if block.1 < self.now {
                block.1 = self.now + 4 * self.capacity;
                self.queues[k].pop_front();
                self.queues[k - 1].push_back(head);
            }
        }
    }
}

impl Naive for Mq {
    fn contains(&self, page: u32) -> bool {
        self.queues.iter().any(|queue| queue.contains(&page))
    }

    fn request(&mut self, page: u32) -> Option<u32> {
        let mut left = None;
        let cached = self.queues.iter_mut().any(|queue| take(queue, page));
        if !cached {
            if !take(&mut self.out, page) {
                self.blocks.remove(&page);
            }
            if self.queues.iter().map(VecDeque::len).sum::<usize>() == self.capacity {
                left = self.queues.iter_mut().find_map(VecDeque::pop_front);
                self.out.extend(left);
                if self.out.len() > 4 * self.capacity {
                    self.out.pop_front();
                }
            }
        }
        let references = self.blocks.get(&page).map_or(0, |block| block.0) + 1;
        self.blocks.insert(page, (references, self.now + 4 * self.capacity));
        self.queues[references.ilog2().min(7) as usize].push_back(page);
        self.adjust();
        left
    }

    fn remove(&mut self, page: u32) -> bool {
        self.blocks.remove(&page);
        take(&mut self.out, page);
        self.queues.iter_mut().any(|queue| take(queue, page))
    }
}
