//! LIRS. The top of the stack is at the back, the oldest page of a queue in front.

use std::collections::{HashSet, VecDeque};

use super::{Naive, take};

pub(super) struct Lirs {
    capacity: usize,
    lir_size: usize,
    stack_size: usize,
    lir: HashSet<u32>,
    stack: VecDeque<u32>,
    queue: VecDeque<u32>,
    /// Pages in the stack but not in the cache, in the order in which they left it.
    gone: VecDeque<u32>,
}

impl Lirs {
    /// `stack` is the size of the stack as a multiple of the capacity.
    pub(super) fn new(capacity: usize, stack: f64) -> Self {
        let lir_size = capacity - (capacity / 100).max(1);
        let list = VecDeque::new;
        let stack_size = (capacity as f64 * stack) as usize;
        let (lir, stack, queue, gone) = (HashSet::new(), list(), list(), list());
        Self { capacity, lir_size, stack_size, lir, stack, queue, gone }
    }

    fn prune(&mut self) {
        while let Some(lowest) = self.stack.front().copied() {
            if self.lir.contains(&lowest) {
                break;
            }
            self.stack.pop_front();
            take(&mut self.gone, lowest);
        }
    }

    fn becomes_lir(&mut self, page: u32) {
        self.lir.insert(page);
        self.prune();
        if self.lir.len() > self.lir_size {
            let lowest = self.stack.pop_front().unwrap();
            self.lir.remove(&lowest);
            self.queue.push_back(lowest);
            self.prune();
        }
    }
}

impl Naive for Lirs {
    fn contains(&self, page: u32) -> bool {
        self.lir.contains(&page) || self.queue.contains(&page)
    }

    fn request(&mut self, page: u32) -> Option<u32> {
        let mut left = None;
        if self.lir.contains(&page) {
            take(&mut self.stack, page);
            self.stack.push_back(page);
            self.prune();
        } else if take(&mut self.queue, page) {
            let stacked = take(&mut self.stack, page);
            self.stack.push_back(page);
            if stacked {
                self.becomes_lir(page);
            } else {
                self.queue.push_back(page);
            }
        } else {
            if self.lir.len() + self.queue.len() == self.capacity {
                left = self.queue.pop_front();
                self.gone.extend(left.filter(|left| self.stack.contains(left)));
            }
            take(&mut self.gone, page);
            let stacked = take(&mut self.stack, page);
            self.stack.push_back(page);
            if stacked || self.lir.len() < self.lir_size {
                self.becomes_lir(page);
            } else {
                self.queue.push_back(page);
            }
        }
        while self.stack.len() > self.stack_size {
            let Some(oldest) = self.gone.pop_front() else { break };
            take(&mut self.stack, oldest);
        }
        left
    }

    fn remove(&mut self, page: u32) -> bool {
        take(&mut self.stack, page);
        take(&mut self.gone, page);
        let lir = self.lir.remove(&page);
        if lir {
            self.prune();
        }
        take(&mut self.queue, page) || lir
    }
}
