//! The hill climber of W-TinyLFU: moves the boundary between window and main list in the direction
//! in which the hit rate rose, in steps that shrink.
//!
//! Source: Einziger, Eytan, Friedman, Manes, *Adaptive Software Cache Management*, Middleware 2018,
//! with the constants of Caffeine 3 (`BoundedLocalCache`): a first step of 6.25 % of the capacity
//! away from the window, steps shrink by 2 %, and begin anew where the hit rate changes by five
//! points.

use crate::page::Space;

const STEP: f64 = 0.0625;
const DECAY: f64 = 0.98;
const RESTART: f64 = 0.05;

/// The hit rate of the current sample, and the step.
#[derive(Debug, Clone)]
pub(super) struct Climber {
    first_step: f64,
    /// Pages to move into the window; negative out of it.
    step: f64,
    /// Requests of a sample.
    sample: u64,
    requests: u64,
    hits: u64,
    hit_rate: f64,
}

impl Climber {
    /// A climber that compares samples of so many requests.
    pub(super) fn new(space: Space, sample: u64) -> Self {
        let first_step = STEP * f64::from(space.capacity());
        Self { first_step, step: -first_step, sample, requests: 0, hits: 0, hit_rate: 0.0 }
    }

    /// Counts a request. Returns at the end of a sample how many pages the window should grow by, or
    /// shrink if negative.
    pub(super) fn count(&mut self, is_hit: bool) -> i64 {
        self.requests += 1;
        self.hits += u64::from(is_hit);
        if self.requests < self.sample {
            return 0;
        }
        let hit_rate = self.hits as f64 / self.requests as f64;
        let change = hit_rate - self.hit_rate;
        let amount = if change >= 0.0 { self.step } else { -self.step };
        self.step =
            if change.abs() >= RESTART { self.first_step.copysign(amount) } else { DECAY * amount };
        (self.requests, self.hits, self.hit_rate) = (0, 0, hit_rate);
        amount as i64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_goes_on_uphill_and_turns_downhill() {
        let mut climber = Climber::new(Space::new(1_000, 1).unwrap(), 100);
        let mut sample = |hits: u64| {
            (0..100).map(|at| climber.count(at < hits)).filter(|amount| *amount != 0).sum::<i64>()
        };
        // The first rate is compared with none. A large change restarts the steps.
        assert_eq!([sample(40), sample(41), sample(42)], [-62, -62, -61]);
        assert_eq!([sample(40), sample(20), sample(21)], [60, -58, -62]);
    }
}
