//! Compares caches of objects with a naive implementation, written from the papers with a list that
//! is searched: the same outcome of every request, the same bytes in the cache.

#![expect(clippy::unwrap_used, reason = "tests")]

use proptest::prelude::*;
use unjank_cachesim::Page;
use unjank_cachesim::objects::{
    Eviction, ObjectCache, ObjectPolicy, Outcome, Request, VisitObjects,
};

/// A cached object.
#[derive(Debug, Clone, Copy)]
struct Entry {
    request: Request,
    requests: u32,
    last: usize,
    rank: f64,
    visited: bool,
}

/// The objects in the order of their arrival, or for LRU of their last request.
struct Naive {
    policy: ObjectPolicy,
    capacity: u64,
    now: usize,
    age: f64,
    /// SIEVE: the object at which the next search begins.
    hand: Option<Page>,
    entries: Vec<Entry>,
}

impl Naive {
    fn rank(&self, entry: &Entry) -> f64 {
        let requests = f64::from(entry.requests);
        match self.policy {
            ObjectPolicy::Lfu => requests,
            ObjectPolicy::LfuDa => self.age + requests,
            ObjectPolicy::Gdsf => self.age + requests * 1e6 / f64::from(entry.request.size.max(1)),
            _ => 0.0,
        }
    }

    fn used(&self) -> u64 {
        self.entries.iter().map(|entry| u64::from(entry.request.size)).sum()
    }

    fn place(&self, object: Page) -> Option<usize> {
        self.entries.iter().position(|entry| entry.request.object == object)
    }

    fn take(&mut self, at: usize) {
        if self.hand == Some(self.entries[at].request.object) {
            self.hand = self.entries.get(at + 1).map(|entry| entry.request.object);
        }
        self.entries.remove(at);
    }

    fn evict(&mut self) {
        match self.policy {
            ObjectPolicy::Fifo | ObjectPolicy::Lru => self.take(0),
            ObjectPolicy::Clock => {
                while self.entries[0].visited {
                    let spared = self.entries.remove(0);
                    self.entries.push(Entry { visited: false, ..spared });
                }
                self.take(0);
            }
            ObjectPolicy::Sieve => loop {
                let at = self.hand.and_then(|hand| self.place(hand)).unwrap_or(0);
                if !self.entries[at].visited {
                    self.hand = Some(self.entries[at].request.object);
                    return self.take(at);
                }
                self.entries[at].visited = false;
                self.hand = self.entries.get(at + 1).map(|entry| entry.request.object);
            },
            ObjectPolicy::Lfu | ObjectPolicy::LfuDa | ObjectPolicy::Gdsf => {
                let order = |entry: &Entry| (entry.rank.to_bits(), entry.last);
                let lowest = self.entries.iter().copied().min_by_key(order).unwrap();
                self.age = lowest.rank;
                self.take(self.place(lowest.request.object).unwrap());
            }
        }
    }

    fn request(&mut self, request: Request) -> Outcome {
        self.now += 1;
        let mut outcome = Outcome::Miss;
        if let Some(at) = self.place(request.object) {
            let there = self.entries[at].request;
            if there.ttl.is_none_or(|ttl| request.at < there.at + ttl) {
                let mut entry = self.entries[at];
                entry.requests += 1;
                entry.last = self.now;
                entry.visited = true;
                entry.rank = self.rank(&entry);
                self.entries[at] = entry;
                if self.policy == ObjectPolicy::Lru {
                    self.entries.remove(at);
                    self.entries.push(entry);
                }
                return Outcome::Hit;
            }
            self.take(at);
            outcome = Outcome::Expired;
        }
        let size = u64::from(request.size);
        if size > self.capacity {
            return Outcome::TooLarge;
        }
        let new = Entry { request, requests: 1, last: self.now, rank: 0.0, visited: false };
        if self.policy == ObjectPolicy::Gdsf {
            self.entries.push(Entry { rank: self.rank(&new), ..new });
        }
        let come = if self.policy == ObjectPolicy::Gdsf { 0 } else { size };
        while self.used() + come > self.capacity {
            self.evict();
        }
        if self.policy != ObjectPolicy::Gdsf {
            self.entries.push(Entry { rank: self.rank(&new), ..new });
        }
        outcome
    }
}

#[derive(Debug, Clone, Copy)]
enum Step {
    Request { object: u32, size: u32, later: u64, ttl: Option<u64> },
    Remove(u32),
}

struct Compare<'a> {
    policy: ObjectPolicy,
    capacity: u64,
    steps: &'a [Step],
}

const FOOTPRINT: u32 = 30;

impl VisitObjects for Compare<'_> {
    type Output = ();

    fn visit<E: Eviction>(self, eviction: E) {
        let Self { policy, capacity, steps } = self;
        let mut naive =
            Naive { policy, capacity, now: 0, age: 0.0, hand: None, entries: Vec::new() };
        let mut cache = ObjectCache::new(capacity, FOOTPRINT, eviction);
        let mut at = 0;
        for (number, step) in steps.iter().enumerate() {
            match *step {
                Step::Request { object, size, later, ttl } => {
                    at += later;
                    let request = Request { object: Page(object), size, at, ttl };
                    let (ours, expected) = (cache.request(request), naive.request(request));
                    assert_eq!(ours, expected, "{policy}, step {number}: {step:?}");
                }
                Step::Remove(object) => {
                    let place = naive.place(Page(object));
                    assert_eq!(cache.remove(Page(object)), place.is_some(), "{policy}, {number}");
                    if let Some(at) = place {
                        naive.take(at);
                    }
                }
            }
            assert_eq!(cache.used(), naive.used(), "{policy}, step {number}: {step:?}");
            assert!(cache.used() <= capacity);
        }
    }
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let object = (0..FOOTPRINT, 0..FOOTPRINT).prop_map(|(a, b)| a.min(b));
    let size = prop_oneof![4 => 1..50_u32, 1 => 0..300_u32];
    let ttl = prop::option::weighted(0.3, 0..100_u64);
    let request = (object, size, 0..5_u64, ttl)
        .prop_map(|(object, size, later, ttl)| Step::Request { object, size, later, ttl });
    prop::collection::vec(
        prop_oneof![12 => request, 1 => (0..FOOTPRINT).prop_map(Step::Remove)],
        1..600,
    )
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 128, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn outcomes_are_those_of_the_papers(steps in steps(), capacity in 1..400_u64) {
        for policy in ObjectPolicy::ALL {
            let compare = Compare { policy: *policy, capacity, steps: &steps };
            policy.visit(FOOTPRINT, compare).unwrap();
        }
    }
}

#[test]
fn names_are_parsed_as_printed() {
    for policy in ObjectPolicy::ALL {
        assert_eq!(policy.to_string().to_uppercase().parse(), Ok(*policy));
    }
    let error = "arc".parse::<ObjectPolicy>().unwrap_err().to_string();
    assert!(
        error.starts_with("unknown policy \"arc\"; for objects, expected one of fifo"),
        "{error}"
    );
}
