//! LHD: of a sample of pages, evicts the one with the least *hit density*: the hits to expect of
//! it, for the time that it will stay in the cache until the next hit or its eviction.
//!
//! Source: Beckmann, Chen, Cidon, *LHD: Improving Cache Hit Rate by Maximizing Hit Density*, NSDI
//! 2018, with the constants of the authors' program (<https://github.com/CMU-CORGI/LHD>): sixteen
//! classes by the sum of a page's last two ages at a hit, 20,000 ages, a decay of 0.9, samples of
//! 32 pages and the last eight new ones, and a hundredth of the cache for *explorers*: pages that
//! rarely leave, so that their late hits are seen. Pages have one size, so the number of pages is
//! known from the beginning, and with it the requests of one step of age. There, densities are
//! computed anew after 2²⁰ requests; here, where traces are shorter, after eight for each page that
//! fits, but at least 2¹² and at most 2²⁰.

use super::Replacement;
use super::parameters::{Share, Slot};
use super::random::Random;
use super::random_set::RandomSet;
use crate::page::{Page, Space};

const CLASSES: usize = 16;
const AGES: usize = 20_000;
/// The last age: of pages that are that old or older. They leave first.
const OLDEST: u16 = AGES as u16 - 1;
/// The ages span this many requests for each page that fits.
const SPAN: u32 = 100;
const NEW: usize = 8;
const DECAY: f32 = 0.9;
/// One request of so many makes its page an explorer, while there is room for more.
const ONE_EXPLORES: u32 = 32;
/// The cache has room for one explorer among so many pages.
const EXPLORER_SHARE: u32 = 100;
/// The least and the most requests between two computations of the densities.
const PERIODS: [u32; 2] = [1 << 12, 1 << 20];

/// The parameters of LHD.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Parameters {
    /// The number of sampled pages.
    pub sample: u8,
    /// The requests between two computations of the densities, for each page that fits.
    pub period: Share,
    /// The seed of the samples.
    pub seed: u8,
}

impl Parameters {
    /// The sample of the paper, eight requests for each page, and the first seed.
    pub const PAPER: Self = Self { sample: 32, period: Share::percent(800), seed: 0 };

    pub(super) fn slots(&mut self) -> Vec<(&'static str, Slot<'_>)> {
        vec![
            ("sample", Slot::Count(&mut self.sample, 1..=u8::MAX)),
            ("period", Slot::Share(&mut self.period, 0.0..=1_000.0)),
            ("seed", Slot::Count(&mut self.seed, 0..=u8::MAX)),
        ]
    }
}

/// What is known of a page in the cache.
#[derive(Clone, Copy)]
struct Known {
    /// The number of its last request. Wraps.
    last: u32,
    /// Its age at its last hit.
    hit_age: u16,
    class: u8,
    is_explorer: bool,
}

/// Hits and evictions of the pages of a class at each age, and the densities that follow.
struct Class {
    hits: Box<[f32]>,
    evictions: Box<[f32]>,
    densities: Box<[f32]>,
}

/// The cached pages, and the densities of their classes.
pub struct Lhd {
    space: Space,
    sample: u8,
    random: Random,
    /// The number of the current request. Wraps.
    now: u32,
    /// A step of age is 2 to the power of this requests.
    shift: u32,
    /// The requests between two computations of the densities, and until the next one.
    period: u32,
    until_computed: u32,
    /// How many more explorers there may be.
    explorer_budget: u32,
    known: Box<[Known]>,
    cached: RandomSet,
    /// The last pages that came, as a ring.
    new: [Option<Page>; NEW],
    next_new: usize,
    classes: Box<[Class]>,
}

impl Lhd {
    /// An empty cache, as in the paper.
    pub fn new(space: Space) -> Self {
        Self::with(space, Parameters::PAPER)
    }

    /// An empty cache with these parameters.
    pub fn with(space: Space, parameters: Parameters) -> Self {
        let absent = Known { last: 0, hit_age: 0, class: 0, is_explorer: false };
        let step = (u64::from(space.capacity()) * u64::from(SPAN)).div_ceil(AGES as u64);
        let period = parameters.period.of(space).clamp(PERIODS[0], PERIODS[1]);
        Self {
            space,
            sample: parameters.sample.max(1),
            random: Random::new(parameters.seed),
            now: 0,
            shift: step.next_power_of_two().trailing_zeros(),
            period,
            until_computed: period,
            explorer_budget: space.capacity() / EXPLORER_SHARE,
            known: vec![absent; space.footprint() as usize].into_boxed_slice(),
            cached: RandomSet::new(space),
            new: [None; NEW],
            next_new: 0,
            classes: (0..CLASSES).map(Class::new).collect(),
        }
    }

    fn age(&self, page: Page) -> u16 {
        let requests = self.now.wrapping_sub(self.known[page.index()].last);
        (requests >> self.shift).min(OLDEST.into()) as u16
    }

    /// The priority of a page: that with the lowest one leaves.
    fn density(&self, page: Page) -> f32 {
        let (known, age) = (self.known[page.index()], self.age(page));
        if age == OLDEST {
            return f32::NEG_INFINITY;
        }
        let density = self.classes[usize::from(known.class)].densities[usize::from(age)];
        if known.is_explorer { density + 1.0 } else { density }
    }

    /// The page of the lowest density in a sample and among the new ones; the first one of several.
    fn victim(&mut self) -> Option<Page> {
        let mut lowest: Option<(f32, Page)> = None;
        for place in 0..usize::from(self.sample) + NEW {
            let page = match place.checked_sub(self.sample.into()) {
                None => self.cached.draw(&mut self.random),
                Some(place) => match self.new[place].filter(|page| self.contains(*page)) {
                    Some(page) => page,
                    None => continue,
                },
            };
            let density = self.density(page);
            if lowest.is_none_or(|(least, _)| density < least) {
                lowest = Some((density, page));
            }
        }
        lowest.map(|(_, page)| page)
    }

    /// Ends a request for a page in the cache.
    fn requested(&mut self, page: Page) {
        let is_drawn = self.random.below(ONE_EXPLORES) == 0;
        let is_explorer = is_drawn && self.explorer_budget > 0;
        self.explorer_budget -= u32::from(is_explorer);
        let known = &mut self.known[page.index()];
        (known.last, known.is_explorer) = (self.now, is_explorer);
        self.now = self.now.wrapping_add(1);
        self.until_computed -= 1;
        if self.until_computed == 0 {
            self.until_computed = self.period;
            self.classes.iter_mut().for_each(Class::compute);
        }
    }

    fn stop_exploring(&mut self, page: Page) {
        let was = std::mem::replace(&mut self.known[page.index()].is_explorer, false);
        self.explorer_budget += u32::from(was);
    }
}

impl Replacement for Lhd {
    fn contains(&self, page: Page) -> bool {
        self.cached.contains(page)
    }

    fn hit(&mut self, page: Page) {
        let age = self.age(page);
        self.stop_exploring(page);
        let known = &mut self.known[page.index()];
        self.classes[usize::from(known.class)].hits[usize::from(age)] += 1.0;
        known.class = class_of(age + known.hit_age);
        known.hit_age = age;
        self.requested(page);
    }

    fn admit(&mut self, page: Page) -> Option<Page> {
        let is_full = self.len() == self.space.capacity();
        let victim = if is_full { self.victim() } else { None };
        if let Some(victim) = victim {
            let (age, class) = (self.age(victim), self.known[victim.index()].class);
            self.classes[usize::from(class)].evictions[usize::from(age)] += 1.0;
            self.remove(victim);
        }
        // As if the hits before had been very far apart.
        self.known[page.index()] =
            Known { last: self.now, hit_age: 0, class: class_of(AGES as u16), is_explorer: false };
        self.cached.add(page);
        self.new[self.next_new] = Some(page);
        self.next_new = (self.next_new + 1) % NEW;
        self.requested(page);
        victim
    }

    fn remove(&mut self, page: Page) -> bool {
        self.stop_exploring(page);
        self.cached.take(page)
    }

    fn len(&self) -> u32 {
        self.cached.len()
    }

    fn space(&self) -> Space {
        self.space
    }

    fn bytes(&self) -> usize {
        let classes: usize = self.classes.iter().map(Class::bytes).sum();
        size_of_val(&*self.known) + self.cached.bytes() + classes
    }
}

impl Class {
    /// At first, the density falls with the age, and is higher in classes of younger pages.
    fn new(class: usize) -> Self {
        let none = || vec![0.0; AGES].into_boxed_slice();
        let densities = (0..AGES).map(|age| (class + 1) as f32 / (age + 1) as f32).collect();
        Self { hits: none(), evictions: none(), densities }
    }

    /// Decays the counts of hits and evictions, and computes the densities from them.
    fn compute(&mut self) {
        // Of the pages that reach an age: the hits that follow, how many there are, and the sum of
        // their remaining times.
        let (mut hits, mut pages, mut times) = (0.0_f32, 0.0_f32, 0.0_f32);
        for age in (0..AGES).rev() {
            self.hits[age] *= DECAY;
            self.evictions[age] *= DECAY;
            hits += self.hits[age];
            pages += self.hits[age] + self.evictions[age];
            times += pages;
            self.densities[age] = if pages > 1e-5 { hits / times } else { 0.0 };
        }
    }

    fn bytes(&self) -> usize {
        size_of_val(&*self.hits) + size_of_val(&*self.evictions) + size_of_val(&*self.densities)
    }
}

/// The class by the sum of a page's last two ages at a hit: each class has half the ages of the one
/// before.
fn class_of(ages: u16) -> u8 {
    let doublings = (AGES as u16).div_ceil(ages.max(1)).next_power_of_two().trailing_zeros();
    (doublings as usize).min(CLASSES - 1) as u8
}
