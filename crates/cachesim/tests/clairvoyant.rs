//! No replacement policy with any admission rule costs less than the bound, and on launches of apps
//! the bound is close to the offline schedule.

#![expect(clippy::unwrap_used, reason = "tests")]

mod apps;

use apps::{Phone, chances};
use unjank_cachesim::admission::{
    Admission, Age, Always, Budget, Gate, Ghost, Refault, RejectFirst, SecondEviction, WriteRate,
};
use unjank_cachesim::bounds::clairvoyant::{Costs, clairvoyant};
use unjank_cachesim::replacement::Visit;
use unjank_cachesim::{Page, PagingEvent, PagingKind, Policy, Replacement, Space, Tier, Traffic};
use unjank_units::Nanos;

/// Feeds a tier; an event is a microsecond.
struct Fed<'a, A> {
    stream: &'a [PagingEvent],
    admission: A,
}

impl<A: Admission> Visit for Fed<'_, A> {
    type Output = Traffic;

    fn visit<R: Replacement>(self, cache: R) -> Traffic {
        let mut tier = Tier::new(cache, self.admission);
        for (at, paging) in (0..).zip(self.stream) {
            let _found = tier.take(*paging, Nanos(1_000 * at));
        }
        *tier.traffic()
    }
}

/// Compares every policy with every admission rule against the bound at each cost. Returns, for the
/// default cost, the least cost of a policy, the bound, and the cost of the schedule.
fn check_bounds(stream: &[PagingEvent], space: Space) -> (f64, f64, f64) {
    let bounds = [0.0, Costs::default().tier_write(), 0.5, 2.0].map(|write| {
        let costs = Costs::new(write);
        (costs, clairvoyant(stream, space, costs).unwrap())
    });
    let mut best = f64::INFINITY;
    for policy in Policy::ALL {
        let (pages, room) = (space.footprint(), space.capacity());
        let rate = WriteRate { pages: room, period: Nanos::from_millis(1_000) };
        let traffics = [
            policy.visit(space, Fed { stream, admission: Always }),
            policy.visit(space, Fed { stream, admission: SecondEviction::new(pages) }),
            policy.visit(space, Fed { stream, admission: Ghost::new(pages, room).unwrap() }),
            policy.visit(space, Fed { stream, admission: Gate::new(pages, room, 4) }),
            policy.visit(space, Fed { stream, admission: Refault::new(space) }),
            policy.visit(space, Fed { stream, admission: RejectFirst::new(pages, room) }),
            policy.visit(space, Fed { stream, admission: Age::new(space) }),
            policy.visit(space, Fed { stream, admission: Budget::new(Always, rate) }),
        ];
        for (rule, traffic) in traffics.iter().enumerate() {
            for (costs, bound) in &bounds {
                let cost = costs.of(traffic);
                assert!(bound.lower_bound <= cost, "{policy}, rule {rule}: {cost}, {bound:?}");
            }
            best = best.min(bounds[1].0.of(traffic));
        }
    }
    for (costs, bound) in &bounds {
        assert!(bound.lower_bound <= bound.cost, "{bound:?}");
        assert_eq!(costs.of(&bound.schedule).to_bits(), bound.cost.to_bits());
    }
    (best, bounds[1].1.lower_bound, bounds[1].1.cost)
}

#[test]
fn no_policy_costs_less_on_random_streams() {
    for seed in 0..15 {
        let mut chance = chances(seed);
        let pages = 2 + (60.0 * chance()) as u32;
        let capacity = 1 + (f64::from(pages) * chance()) as u64;
        let stream: Vec<PagingEvent> = (0..2_000)
            .map(|_| {
                let page = f64::from(pages).powf(chance()) as u32 - 1;
                let kind = match (100.0 * chance()) as u32 {
                    0..45 => PagingKind::PageIn,
                    45..75 => PagingKind::PageOut,
                    75..97 => PagingKind::CleanDrop,
                    _ => PagingKind::Gone,
                };
                PagingEvent::new(Page(page), kind)
            })
            .collect();
        check_bounds(&stream, Space::new(capacity, pages.into()).unwrap());
    }
}

#[test]
fn no_policy_costs_less_on_launches() {
    let small = |pages: u32| pages / 20;
    let phone = Phone {
        launches: 60,
        shared: small(Phone::NINE.shared),
        hot: small(Phone::NINE.hot),
        warm: small(Phone::NINE.warm),
        cold: small(Phone::NINE.cold),
        memory: small(Phone::NINE.memory),
        ..Phone::NINE
    };
    let stream = phone.stream();
    for capacity in [100, 400, 1_600] {
        let space = Space::new(capacity, phone.footprint().into()).unwrap();
        let (best, lower_bound, schedule) = check_bounds(&stream, space);
        assert!(schedule < best, "{schedule} is not below {best}");
        assert!(lower_bound > 0.93 * schedule, "{lower_bound} is far from {schedule}");
    }
}
