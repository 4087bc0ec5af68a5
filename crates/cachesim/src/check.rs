//! Checks whether a replacement policy satisfies the contract of [`Replacement`]: for custom
//! policies.
//!
//! ```
//! use unjank_cachesim::{Lru, check};
//!
//! check::replacement(Lru::new)?;
//! # Ok::<(), check::Violation>(())
//! ```

use crate::bounds::{Belady, NextUses};
use crate::page::{Page, Space};
use crate::replacement::Replacement;

/// A rule that a policy breaks.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("room for {capacity} of {footprint} pages, {stream}, step {step}: {rule}")]
pub struct Violation {
    /// Pages that fit.
    pub capacity: u32,
    /// Different pages.
    pub footprint: u32,
    /// The requests.
    pub stream: &'static str,
    /// The number of the request or removal, from 0.
    pub step: usize,
    /// What should have held.
    pub rule: &'static str,
}

/// Capacities and footprints of the checks.
const SPACES: [[u32; 2]; 6] = [[1, 1], [1, 50], [2, 50], [10, 50], [40, 50], [200, 50]];
const STEPS: usize = 3_000;

#[derive(Debug, Clone, Copy)]
enum Step {
    Request(Page),
    Remove(Page),
}

/// Runs a policy on favourites, loops and scans, with and without removals, at several sizes.
///
/// # Errors
///
/// The first rule that it breaks: the cache holds no more pages than fit; it has a page after a
/// request unless that page itself was the one to leave, and no longer has a page that left or was
/// removed; only pages leave that were there; its length is the number of its pages; its memory does
/// not grow; two runs are equal; without removals, it has no fewer misses than the optimum.
pub fn replacement<R: Replacement>(make: impl Fn(Space) -> R) -> Result<(), Violation> {
    for [capacity, footprint] in SPACES {
        let Ok(space) = Space::new(capacity.into(), footprint.into()) else { continue };
        for (stream, steps) in streams(footprint) {
            let wrong = |(step, rule): (usize, &'static str)| Violation {
                capacity,
                footprint,
                stream,
                step,
                rule,
            };
            let first = run(make(space), &steps).map_err(wrong)?;
            let second = run(make(space), &steps).map_err(wrong)?;
            if first != second {
                return Err(wrong((steps.len(), "two runs have equal results")));
            }
            if fewest(&steps, capacity).is_some_and(|fewest| first < fewest) {
                return Err(wrong((steps.len(), "no policy misses less than the optimum")));
            }
        }
    }
    Ok(())
}

/// Runs through the steps. Returns the misses, or the step and the rule that was broken.
fn run<R: Replacement>(mut cache: R, steps: &[Step]) -> Result<u64, (usize, &'static str)> {
    let space = cache.space();
    let bytes = cache.bytes();
    let pages = || (0..space.footprint()).map(Page);
    let mut misses = 0;
    for (number, step) in steps.iter().enumerate() {
        let hold = |holds: bool, rule: &'static str| {
            if holds { Ok(()) } else { Err((number, rule)) }
        };
        let before: Vec<Page> = pages().filter(|page| cache.contains(*page)).collect();
        match *step {
            Step::Request(page) if cache.contains(page) => {
                cache.hit(page);
                hold(before.iter().all(|page| cache.contains(*page)), "no page leaves at a hit")?;
            }
            Step::Request(page) => {
                misses += 1;
                let left = cache.admit(page);
                if let Some(left) = left {
                    hold(
                        left == page || before.contains(&left),
                        "only a page leaves that is there",
                    )?;
                    hold(!cache.contains(left), "a page that left is not there")?;
                }
                let admitted = left != Some(page);
                hold(cache.contains(page) == admitted, "a page is there unless it was refused")?;
                let stays = |other: &Page| Some(*other) == left || cache.contains(*other);
                hold(before.iter().all(stays), "only the returned page leaves")?;
            }
            Step::Remove(page) => {
                let was = cache.contains(page);
                hold(cache.remove(page) == was, "a removal says whether the page was there")?;
                hold(!cache.contains(page), "a removed page is not there")?;
                let stays = |other: &Page| *other == page || cache.contains(*other);
                hold(before.iter().all(stays), "only the named page is removed")?;
            }
        }
        let there = pages().filter(|page| cache.contains(*page)).count();
        hold(cache.len() as usize == there, "the length is the number of pages")?;
        hold(cache.len() <= space.capacity(), "no more pages are there than fit")?;
        hold(cache.bytes() <= bytes, "the memory does not grow")?;
    }
    Ok(misses)
}

/// The fewest possible misses; `None` with removals.
fn fewest(steps: &[Step], capacity: u32) -> Option<u64> {
    let request = |step: &Step| match *step {
        Step::Request(page) => Some(page),
        Step::Remove(_) => None,
    };
    let requests: Option<Vec<Page>> = steps.iter().map(request).collect();
    let uses = NextUses::of(requests?).ok()?;
    Some(Belady::Bypass.run(&uses, capacity).misses)
}

/// Streams of requests by name.
fn streams(footprint: u32) -> [(&'static str, Vec<Step>); 4] {
    let mut state = 1_u64;
    let mut below = move |end: u32| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        ((state >> 33) % u64::from(end)) as u32
    };
    let favourites: Vec<u32> =
        (0..STEPS).map(|_| below(footprint).min(below(footprint)).min(below(footprint))).collect();
    let loops = (0..STEPS as u32).map(|at| at / 500 * 7 % 11 + at % (footprint * 3 / 4).max(1));
    let loops: Vec<u32> = loops.map(|page| page % footprint).collect();
    let scans = favourites
        .iter()
        .zip(0..)
        .map(|(page, at): (&u32, u32)| if at / 100 % 3 == 2 { at % footprint } else { *page });
    let scans: Vec<u32> = scans.collect();
    let requests = |pages: &[u32]| pages.iter().map(|page| Step::Request(Page(*page))).collect();
    let mut removals: Vec<Step> = requests(&favourites);
    for step in removals.iter_mut().skip(5).step_by(11) {
        *step = Step::Remove(Page(below(footprint)));
    }
    [
        ("favourites", requests(&favourites)),
        ("loops", requests(&loops)),
        ("favourites and scans", requests(&scans)),
        ("favourites and removals", removals),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::replacement::{Lru, Policy, Visit};

    #[test]
    fn all_policies_keep_the_rules() {
        struct Check(Vec<Step>);
        impl Visit for Check {
            type Output = Option<u64>;
            fn visit<R: Replacement>(self, cache: R) -> Option<u64> {
                run(cache, &self.0).ok()
            }
        }
        for policy in Policy::ALL {
            for [capacity, footprint] in SPACES {
                let space = Space::new(capacity.into(), footprint.into()).unwrap();
                for (name, steps) in streams(footprint) {
                    let misses = policy.visit(space, Check(steps.clone()));
                    assert!(misses.is_some(), "{policy}, {space:?}, {name}");
                    assert_eq!(misses, policy.visit(space, Check(steps)), "{policy}, {name}");
                }
            }
        }
        assert_eq!(replacement(Lru::new), Ok(()));
    }

    /// LRU that keeps one page too many, or forgets to say what it evicts.
    struct Wrong {
        lru: Lru,
        silent: bool,
    }

    impl Replacement for Wrong {
        fn contains(&self, page: Page) -> bool {
            self.lru.contains(page)
        }
        fn hit(&mut self, page: Page) {
            self.lru.hit(page);
        }
        fn admit(&mut self, page: Page) -> Option<Page> {
            self.lru.admit(page).filter(|_| !self.silent)
        }
        fn remove(&mut self, page: Page) -> bool {
            self.lru.remove(page) || self.silent
        }
        fn len(&self) -> u32 {
            self.lru.len()
        }
        fn space(&self) -> Space {
            let space = self.lru.space();
            let less = u64::from(space.capacity() - u32::from(!self.silent)).max(1);
            Space::new(less, space.footprint().into()).unwrap()
        }
        fn bytes(&self) -> usize {
            self.lru.bytes()
        }
    }

    #[test]
    fn broken_rules_are_named() {
        let wrong = |silent| replacement(|space| Wrong { lru: Lru::new(space), silent });
        let rule = |silent| wrong(silent).unwrap_err().rule;
        assert_eq!(rule(true), "only the returned page leaves");
        assert_eq!(rule(false), "no more pages are there than fit");
        let message = wrong(true).unwrap_err().to_string();
        assert!(message.starts_with("room for 1 of 50 pages, favourites, step "), "{message}");
    }
}
