//! Compares every policy with a naive implementation, written from its paper with queues that are
//! searched: the same hits, the same victims.

#![expect(clippy::unwrap_used, reason = "tests")]

mod naive;

use naive::Naive;
use proptest::prelude::*;
use unjank_cachesim::replacement::Visit;
use unjank_cachesim::{Page, Policy, Replacement, Space};

#[derive(Debug, Clone, Copy)]
enum Step {
    Request(u32),
    Remove(u32),
}

/// Runs the steps with both implementations and compares the results.
struct CompareWithNaive<'a> {
    steps: &'a [Step],
    naive: Box<dyn Naive>,
    footprint: u32,
}

impl Visit for CompareWithNaive<'_> {
    type Output = ();

    fn visit<R: Replacement>(mut self, mut cache: R) {
        let bytes = cache.bytes();
        for (at, step) in self.steps.iter().enumerate() {
            match *step {
                Step::Request(page) => {
                    let there = self.naive.contains(page);
                    assert_eq!(cache.contains(Page(page)), there, "step {at}: {step:?}");
                    let left = if there {
                        cache.hit(Page(page));
                        None
                    } else {
                        cache.admit(Page(page)).map(|page| page.0)
                    };
                    assert_eq!(self.naive.request(page), left, "step {at}: {step:?}");
                }
                Step::Remove(page) => {
                    let was = cache.remove(Page(page));
                    assert_eq!(self.naive.remove(page), was, "step {at}: {step:?}");
                }
            }
            assert!(cache.len() <= cache.space().capacity());
            if at % 61 != 0 && self.steps.len() > 10_000 {
                continue;
            }
            let pages = (0..self.footprint).filter(|page| cache.contains(Page(*page))).count();
            assert_eq!(cache.len() as usize, pages, "step {at}: {step:?}");
            assert_eq!(cache.is_empty(), pages == 0);
        }
        assert_eq!(cache.bytes(), bytes);
    }
}

fn compare_with_naive(policy: Policy, capacity: u32, footprint: u32, steps: &[Step]) {
    let naive = naive::of(policy, capacity as usize, footprint as usize);
    let space = Space::new(capacity.into(), footprint.into()).unwrap();
    policy.visit(space, CompareWithNaive { steps, naive, footprint });
}

/// Requests near a few favourites, loops and single pages, with removals.
fn steps(footprint: u32) -> impl Strategy<Value = Vec<Step>> {
    let page = 0..footprint;
    let favourite = (page.clone(), page.clone()).prop_map(|(a, b)| vec![Step::Request(a.min(b))]);
    let single = page.clone().prop_map(|page| vec![Step::Request(page)]);
    let remove = page.clone().prop_map(|page| vec![Step::Remove(page)]);
    let scan = (page, 1..footprint + 1).prop_map(move |(from, pages)| {
        (from..from + pages).map(|page| Step::Request(page % footprint)).collect()
    });
    prop::collection::vec(prop_oneof![8 => favourite, 4 => single, 1 => remove, 1 => scan], 1..400)
        .prop_map(|pieces| pieces.concat())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn policies_match_their_papers(
        (footprint, steps) in (1..70u32).prop_flat_map(|pages| (Just(pages), steps(pages))),
        capacity in prop_oneof![1..8u32, 1..80u32],
    ) {
        for policy in Policy::ALL {
            compare_with_naive(*policy, capacity, footprint, &steps);
        }
        for chosen in ["lirs:stack=1", "lirs:stack=1.5", "lirs:stack=1000", "w-tinylfu:climb=1"] {
            compare_with_naive(chosen.parse().unwrap(), capacity, footprint, &steps);
        }
    }
}

/// A thousand pages by Zipf's law, long enough for adaptation and ageing.
#[test]
fn policies_match_their_papers_in_the_long_run() {
    let mut state = 7u64;
    let mut chance = move || {
        state =
            state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) as f64 / (1u64 << 31) as f64
    };
    let steps: Vec<Step> = (0..20_000)
        .map(|at| {
            let page = (1_000f64.powf(chance()) as u32 - 1).min(999);
            if at % 500 == 499 { Step::Remove(page) } else { Step::Request(page) }
        })
        .collect();
    let chosen = ["w-tinylfu:climb=1", "lhd:period=3"].map(|typed| typed.parse().unwrap());
    for policy in Policy::ALL.iter().chain(&chosen) {
        for capacity in [1, 2, 10, 99, 100, 250, 1_000, 2_000] {
            compare_with_naive(*policy, capacity, 1_000, &steps);
        }
    }
}

/// In a cache that holds all pages, each page misses once; LARC admits pages at the second request.
#[test]
fn a_cache_for_all_pages_misses_each_once() {
    struct Misses;
    impl Visit for Misses {
        type Output = u64;
        fn visit<R: Replacement>(self, mut cache: R) -> u64 {
            cache.misses((0..1_000).map(|at| Page(at * 7 % 100)))
        }
    }
    for policy in Policy::ALL {
        let misses = policy.visit(Space::new(1_000, 100).unwrap(), Misses);
        let each = if policy.name() == "larc" { 2 } else { 1 };
        assert_eq!(misses, 100 * each, "{policy}");
    }
}
