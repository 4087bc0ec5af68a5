//! Policies that rank pages, or choose among them at random.

use std::collections::{HashMap, VecDeque};

use super::{Naive, take};

/// A page of LFU.
#[derive(Clone, Copy)]
struct Ranked {
    page: u32,
    rank: u64,
    requests: u64,
    last: u64,
}

pub(super) struct Lfu {
    capacity: usize,
    ageing: bool,
    age: u64,
    now: u64,
    pages: Vec<Ranked>,
}

impl Lfu {
    pub(super) fn new(capacity: usize, ageing: bool) -> Self {
        Self { capacity, ageing, age: 0, now: 0, pages: Vec::new() }
    }
}

impl Naive for Lfu {
    fn contains(&self, page: u32) -> bool {
        self.pages.iter().any(|ranked| ranked.page == page)
    }

    fn request(&mut self, page: u32) -> Option<u32> {
        self.now += 1;
        let (age, now) = (self.age, self.now);
        if let Some(there) = self.pages.iter_mut().find(|ranked| ranked.page == page) {
            there.requests += 1;
            there.last = now;
            there.rank = age + there.requests;
            return None;
        }
        let mut left = None;
        if self.pages.len() == self.capacity {
            let lowest = self.pages.iter().copied().min_by_key(|it| (it.rank, it.last)).unwrap();
            self.pages.retain(|ranked| ranked.page != lowest.page);
            if self.ageing {
                self.age = lowest.rank;
            }
            left = Some(lowest.page);
        }
        self.pages.push(Ranked { page, rank: self.age + 1, requests: 1, last: now });
        left
    }

    fn remove(&mut self, page: u32) -> bool {
        let before = self.pages.len();
        self.pages.retain(|ranked| ranked.page != page);
        self.pages.len() < before
    }
}

/// `SplitMix64`.
pub(super) struct Random(pub(super) u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^ (z >> 31)
    }

    /// A number below `end`.
    pub(super) fn below(&mut self, end: u32) -> u32 {
        (((self.next() >> 32) * u64::from(end)) >> 32) as u32
    }
}

pub(super) struct Hyperbolic {
    capacity: usize,
    now: u32,
    random: Random,
    /// Page, first request, requests.
    pages: Vec<(u32, u32, u32)>,
}

impl Hyperbolic {
    pub(super) fn new(capacity: usize) -> Self {
        Self { capacity, now: 0, random: Random(0), pages: Vec::new() }
    }
}

impl Naive for Hyperbolic {
    fn contains(&self, page: u32) -> bool {
        self.pages.iter().any(|(other, ..)| *other == page)
    }

    fn request(&mut self, page: u32) -> Option<u32> {
        self.now += 1;
        if let Some((.., requests)) = self.pages.iter_mut().find(|(other, ..)| *other == page) {
            *requests += 1;
            return None;
        }
        let mut left = None;
        if self.pages.len() == self.capacity {
            let mut lowest: Option<(usize, f64)> = None;
            for _ in 0..64 {
                let at = self.random.below(self.pages.len() as u32) as usize;
                let (_, since, requests) = self.pages[at];
                let priority = f64::from(requests) / f64::from(self.now - since);
                if lowest.is_none_or(|(_, least)| priority < least) {
                    lowest = Some((at, priority));
                }
            }
            left = Some(self.pages.swap_remove(lowest.unwrap().0).0);
        }
        self.pages.push((page, self.now, 1));
        left
    }

    fn remove(&mut self, page: u32) -> bool {
        let at = self.pages.iter().position(|(other, ..)| *other == page);
        at.map(|at| self.pages.swap_remove(at)).is_some()
    }
}

pub(super) struct LeCar {
    n: usize,
    now: u64,
    random: Random,
    w_lru: f64,
    /// The oldest in front.
    cache: VecDeque<u32>,
    h_lru: VecDeque<u32>,
    h_lfu: VecDeque<u32>,
    frequency: HashMap<u32, u64>,
    last: HashMap<u32, u64>,
    left: HashMap<u32, u64>,
}

impl LeCar {
    pub(super) fn new(n: usize) -> Self {
        let list = VecDeque::new;
        Self {
            n,
            now: 0,
            random: Random(0),
            w_lru: 0.5,
            cache: list(),
            h_lru: list(),
            h_lfu: list(),
            frequency: HashMap::new(),
            last: HashMap::new(),
            left: HashMap::new(),
        }
    }

    fn learn(&mut self, lru_erred: bool, page: u32) {
        let discount = 0.005_f64.powf(1.0 / self.n as f64);
        let reward = -discount.powf((self.now - self.left[&page]) as f64);
        let (mut lru, mut lfu) = (self.w_lru, 1.0 - self.w_lru);
        *(if lru_erred { &mut lru } else { &mut lfu }) *= (0.45 * reward).exp();
        self.w_lru = (lru / (lru + lfu)).clamp(0.01, 0.99);
    }
}

impl Naive for LeCar {
    fn contains(&self, page: u32) -> bool {
        self.cache.contains(&page)
    }

    fn request(&mut self, page: u32) -> Option<u32> {
        self.now += 1;
        if take(&mut self.cache, page) {
            self.cache.push_back(page);
            *self.frequency.get_mut(&page).unwrap() += 1;
            self.last.insert(page, self.now);
            return None;
        }
        let mut frequency = 1;
        if take(&mut self.h_lru, page) {
            frequency = self.frequency[&page] + 1;
            self.learn(true, page);
        } else if take(&mut self.h_lfu, page) {
            frequency = self.frequency[&page] + 1;
            self.learn(false, page);
        }
        let mut victim = None;
        if self.cache.len() == self.n {
            let share = (self.random.next() >> 11) as f64 / (1_u64 << 53) as f64;
            let lru = self.cache[0];
            let rank = |page: &u32| (self.frequency[page], self.last[page]);
            let lfu = self.cache.iter().copied().min_by_key(rank).unwrap();
            let by_lru = share < self.w_lru;
            let left = if by_lru { lru } else { lfu };
            take(&mut self.cache, left);
            if lru != lfu {
                let history = if by_lru { &mut self.h_lru } else { &mut self.h_lfu };
                if history.len() == self.n / 2 {
                    history.pop_front();
                }
                if self.n / 2 > 0 {
                    history.push_back(left);
                }
                self.left.insert(left, self.now);
            }
            victim = Some(left);
        }
        self.cache.push_back(page);
        self.frequency.insert(page, frequency);
        self.last.insert(page, self.now);
        victim
    }

    fn remove(&mut self, page: u32) -> bool {
        let _remembered = take(&mut self.h_lru, page) || take(&mut self.h_lfu, page);
        take(&mut self.cache, page)
    }
}
