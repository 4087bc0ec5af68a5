//! Policies that count requests. The oldest page is in front.

use std::collections::{HashMap, VecDeque};

use super::{Naive, take};

pub(super) struct WTinyLfu {
    capacity: usize,
    window: VecDeque<u32>,
    probation: VecDeque<u32>,
    protected: VecDeque<u32>,
    counts: Box<dyn Counts>,
    /// Pages of the window and of the protected part at most.
    max: (usize, usize),
    climber: Option<Climber>,
}

/// Caffeine's hill climber.
struct Climber {
    step: f64,
    before: f64,
    hits: usize,
    requests: usize,
}

/// Counters of recent requests.
pub(super) trait Counts {
    fn count(&mut self, page: u32);
    fn of(&self, page: u32) -> u32;
    fn forget(&mut self, page: u32);
}

/// One counter for each page.
pub(super) struct Exact {
    sample: usize,
    counted: usize,
    counters: HashMap<u32, u32>,
}

impl Exact {
    pub(super) fn new(capacity: usize) -> Self {
        Self { sample: 10 * capacity, counted: 0, counters: HashMap::new() }
    }
}

impl Counts for Exact {
    fn count(&mut self, page: u32) {
        let counter = self.counters.entry(page).or_default();
        *counter = (*counter + 1).min(15);
        self.counted += 1;
        if self.counted == self.sample {
            self.counted /= 2;
            self.counters.values_mut().for_each(|counter| *counter /= 2);
        }
    }

    fn of(&self, page: u32) -> u32 {
        self.counters.get(&page).copied().unwrap_or(0)
    }

    fn forget(&mut self, page: u32) {
        self.counters.remove(&page);
    }
}

/// Caffeine's sketch: four counters for each page, one in each row of its block.
pub(super) struct Sketch {
    blocks: u32,
    sample: usize,
    counted: usize,
    /// By block, row and place in the row.
    counters: HashMap<(u32, u32, u32), u32>,
}

impl Sketch {
    pub(super) fn new(capacity: usize, pages: usize) -> Self {
        let counters = capacity.min(pages).max(8).next_power_of_two() as u32;
        Self { blocks: counters / 8, sample: 10 * capacity, counted: 0, counters: HashMap::new() }
    }

    fn places(&self, page: u32) -> [(u32, u32, u32); 4] {
        let mix = |number: u32, times: u32, shift: u32| {
            let number = number.wrapping_mul(times);
            number ^ (number >> shift)
        };
        let first = mix(mix(page ^ (page >> 17), 0xed5a_d4bb, 11), 0xac4c_1b51, 15);
        let second = mix(first, 0x3184_8bab, 14).to_le_bytes();
        [0, 1, 2, 3].map(|row| (first % self.blocks, row, u32::from(second[row as usize] % 32)))
    }
}

impl Counts for Sketch {
    fn count(&mut self, page: u32) {
        let mut counts = false;
        for place in self.places(page) {
            let counter = self.counters.entry(place).or_default();
            if *counter < 15 {
                *counter += 1;
                counts = true;
            }
        }
        self.counted += usize::from(counts);
        if counts && self.counted == self.sample {
            let odd = self.counters.values().filter(|counter| **counter % 2 == 1).count();
            self.counted = (self.counted - odd / 4) / 2;
            self.counters.values_mut().for_each(|counter| *counter /= 2);
        }
    }

    fn of(&self, page: u32) -> u32 {
        let of = |place| self.counters.get(&place).copied().unwrap_or(0);
        self.places(page).map(of).into_iter().min().unwrap_or(0)
    }

    /// Does nothing: other pages may share the counters.
    fn forget(&mut self, _: u32) {}
}

impl WTinyLfu {
    pub(super) fn new(capacity: usize, counts: impl Counts + 'static) -> Self {
        let list = VecDeque::new;
        let window = (capacity / 100).max(1);
        Self {
            capacity,
            window: list(),
            probation: list(),
            protected: list(),
            counts: Box::new(counts),
            max: (window, (capacity - window) * 4 / 5),
            climber: None,
        }
    }

    pub(super) fn climbing(mut self, climbing: bool) -> Self {
        let step = -0.0625 * self.capacity as f64;
        self.climber = climbing.then_some(Climber { step, before: 0.0, hits: 0, requests: 0 });
        self
    }

    /// The pages by which the window should grow at the end of a sample.
    fn growth(&mut self, hit: bool) -> i64 {
        let Some(climber) = &mut self.climber else { return 0 };
        climber.requests += 1;
        climber.hits += usize::from(hit);
        if climber.requests < 10 * self.capacity {
            return 0;
        }
        let rate = climber.hits as f64 / climber.requests as f64;
        let amount = if rate >= climber.before { climber.step } else { -climber.step };
        climber.step = if (rate - climber.before).abs() >= 0.05 {
            amount.signum() * 0.0625 * self.capacity as f64
        } else {
            amount * 0.98
        };
        (climber.hits, climber.requests, climber.before) = (0, 0, rate);
        amount as i64
    }

    fn climb(&mut self, hit: bool) {
        let growth = self.growth(hit);
        let (window, protected) = self.max;
        if growth > 0 {
            let quota = (growth as usize).min(protected);
            while self.protected.len() > protected - quota {
                self.probation.extend(self.protected.pop_front());
            }
            let oldest = self.probation.iter().chain(&self.protected);
            let moved: Vec<u32> = oldest.copied().take(quota).collect();
            for page in &moved {
                let _taken = take(&mut self.probation, *page) || take(&mut self.protected, *page);
                self.window.push_back(*page);
            }
            self.max = (window + moved.len(), protected - moved.len());
        } else {
            let quota = (growth.unsigned_abs() as usize).min(window - 1).min(self.window.len());
            self.probation.extend(self.window.drain(..quota));
            self.max = (window - quota, protected + quota);
        }
    }

    fn ask(&mut self, page: u32) -> Option<u32> {
        let (window, protected) = self.max;
        let main = self.capacity - window;
        self.counts.count(page);
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
        if self.counts.of(candidate) <= self.counts.of(victim) {
            return Some(candidate);
        }
        let _taken = take(&mut self.probation, victim) || take(&mut self.protected, victim);
        self.probation.push_back(candidate);
        Some(victim)
    }
}

impl Naive for WTinyLfu {
    fn contains(&self, page: u32) -> bool {
        [&self.window, &self.probation, &self.protected].iter().any(|list| list.contains(&page))
    }

    fn request(&mut self, page: u32) -> Option<u32> {
        let hit = self.contains(page);
        let left = self.ask(page);
        self.climb(hit);
        left
    }

    fn remove(&mut self, page: u32) -> bool {
        self.counts.forget(page);
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
