//! LHD with the densities as sums over all ages.

use super::Naive;
use super::chosen::Random;

const AGES: usize = 20_000;

struct Cached {
    page: u32,
    last: u64,
    hit_ages: [usize; 2],
    explores: bool,
}

pub(super) struct Lhd {
    capacity: usize,
    period: u64,
    random: Random,
    now: u64,
    budget: usize,
    cached: Vec<Cached>,
    admitted: Vec<u32>,
    /// For each class, the hits and evictions at each age.
    events: Vec<Vec<[f32; 2]>>,
    densities: Vec<Vec<f32>>,
}

impl Lhd {
    pub(super) fn new(capacity: usize, period: f64) -> Self {
        let initial = |class| (0..AGES).map(|age| class as f32 / (age + 1) as f32).collect();
        Self {
            capacity,
            period: ((capacity as f64 * period) as u64).clamp(4_096, 1_048_576),
            random: Random(0),
            now: 0,
            budget: capacity / 100,
            cached: Vec::new(),
            admitted: Vec::new(),
            events: vec![vec![[0.0; 2]; AGES]; 16],
            densities: (1..=16).map(initial).collect(),
        }
    }

    fn place(&self, page: u32) -> Option<usize> {
        self.cached.iter().position(|cached| cached.page == page)
    }

    fn age(&self, place: usize) -> usize {
        let mut step = 1;
        while step * AGES < 100 * self.capacity {
            step *= 2;
        }
        ((self.now - self.cached[place].last) as usize / step).min(AGES - 1)
    }

    fn class(&self, place: usize) -> usize {
        let mut ages: usize = self.cached[place].hit_ages.iter().sum();
        let mut class = 0;
        while ages < AGES && class < 15 {
            ages *= 2;
            class += 1;
        }
        class
    }

    fn density(&self, place: usize) -> f32 {
        let age = self.age(place);
        let density = self.densities[self.class(place)][age];
        match (age == AGES - 1, self.cached[place].explores) {
            (true, _) => f32::NEG_INFINITY,
            (false, true) => density + 1.0,
            (false, false) => density,
        }
    }

    fn take(&mut self, place: usize) -> u32 {
        let cached = self.cached.swap_remove(place);
        self.budget += usize::from(cached.explores);
        cached.page
    }

    fn evict(&mut self) -> u32 {
        let end = self.cached.len() as u32;
        let mut candidates: Vec<usize> = (0..32).map(|_| self.random.below(end) as usize).collect();
        // The last eight, by their places in a ring.
        let ring = |slot: &usize| {
            let count = self.admitted.len();
            (0..count).rev().take(8).find(|at| at % 8 == *slot).map(|at| self.admitted[at])
        };
        candidates.extend((0..8).filter_map(|slot| self.place(ring(&slot)?)));
        let densities = candidates.iter().map(|place| (self.density(*place), *place));
        let (_, place) =
            densities.reduce(|least, it| if it.0 < least.0 { it } else { least }).unwrap();
        let (class, age) = (self.class(place), self.age(place));
        self.events[class][age][1] += 1.0;
        self.take(place)
    }

    fn compute(&mut self) {
        for (events, densities) in self.events.iter_mut().zip(&mut self.densities) {
            events.iter_mut().flatten().for_each(|count| *count *= 0.9);
            let (mut hits, mut all, mut time) = (0.0f32, 0.0f32, 0.0f32);
            for (age, [hit, evicted]) in events.iter().enumerate().rev() {
                hits += hit;
                all += hit + evicted;
                time += all;
                densities[age] = if all > 1e-5 { hits / time } else { 0.0 };
            }
        }
    }
}

impl Naive for Lhd {
    fn contains(&self, page: u32) -> bool {
        self.place(page).is_some()
    }

    fn request(&mut self, page: u32) -> Option<u32> {
        let mut left = None;
        let place = if let Some(place) = self.place(page) {
            let (class, age) = (self.class(place), self.age(place));
            self.events[class][age][0] += 1.0;
            let cached = &mut self.cached[place];
            self.budget += usize::from(std::mem::take(&mut cached.explores));
            cached.hit_ages = [age, cached.hit_ages[0]];
            place
        } else {
            left = (self.cached.len() == self.capacity).then(|| self.evict());
            let hit_ages = [0, AGES];
            self.cached.push(Cached { page, last: 0, hit_ages, explores: false });
            self.admitted.push(page);
            self.cached.len() - 1
        };
        let explores = self.random.below(32) == 0 && self.budget > 0;
        self.budget -= usize::from(explores);
        let cached = &mut self.cached[place];
        (cached.last, cached.explores) = (self.now, explores);
        self.now += 1;
        if self.now.is_multiple_of(self.period) {
            self.compute();
        }
        left
    }

    fn remove(&mut self, page: u32) -> bool {
        self.place(page).map(|place| self.take(place)).is_some()
    }
}
