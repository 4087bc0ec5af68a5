//! Experiments in alternating pairs: two arms are measured in turn, so that
//! changes on the machine affect both.
//!
//! A *trial* is one measurement of one arm, a *pair* one trial of each. Pairs
//! come in blocks of two, and a block runs A B B A or B A A B: within a block,
//! a steady drift adds the same to both arms, and so does being the first of a
//! pair. A seeded coin decides which of the two runs, so that no periodic
//! activity on the machine stays in phase with it.
//!
//! Intervals come from resampled pairs, never from the samples inside a trial,
//! which are not independent.

mod conclusion;
mod pooled;
mod rounds;

use std::fmt;

use rand::RngExt as _;
use serde::{Deserialize, Serialize};

use crate::monitor::Monitor;
use crate::stats::random::seeded;

pub use conclusion::{Conclusion, FEWEST_PAIRS, Question, family};
pub use rounds::{Round, rounds};

/// One side of an experiment.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Arm {
    /// The baseline.
    A,
    /// The remedy, which is judged.
    B,
}

/// The arm of a pair that is measured first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Order {
    /// A, then B.
    AB,
    /// B, then A.
    BA,
}

impl Order {
    /// The trials of the pair, in order.
    pub fn arms(self) -> [Arm; 2] {
        match self {
            Self::AB => [Arm::A, Arm::B],
            Self::BA => [Arm::B, Arm::A],
        }
    }
}

impl fmt::Display for Order {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::AB => "AB",
            Self::BA => "BA",
        })
    }
}

/// The plan of an experiment.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Plan {
    /// Pairs that count.
    pub pairs: usize,
    /// Pairs before them, as warm-up.
    pub warm_up: usize,
    /// Seed of the order and of every bootstrap.
    pub seed: u64,
}

impl Plan {
    /// The order of the pairs that count; it depends only on the seed.
    pub fn order(&self) -> Vec<Order> {
        let mut coin = seeded(self.seed, "order of pairs");
        let blocks = std::iter::repeat_with(|| {
            if coin.random_bool(0.5) { [Order::AB, Order::BA] } else { [Order::BA, Order::AB] }
        });
        blocks.flatten().take(self.pairs).collect()
    }

    /// Measures the arms in turn. A stop request ends the experiment after the
    /// current trial; the pairs completed until then are the result.
    ///
    /// # Errors
    /// The first error of a trial.
    pub fn run<T, E>(
        self,
        monitor: &dyn Monitor,
        mut run_trial: impl FnMut(Arm) -> Result<T, E>,
    ) -> Result<Trials<T>, E> {
        let mut pairs = Vec::with_capacity(self.pairs);
        let all = self.warm_up.saturating_add(self.pairs) as f64;
        for done in 0..self.warm_up {
            monitor.progress(done as f64 / all, "warm-up");
            if run_pair(Order::AB, monitor, &mut run_trial)?.is_none() {
                return Ok(Trials { plan: self, pairs });
            }
        }
        for order in self.order() {
            let done = self.warm_up.saturating_add(pairs.len());
            monitor.progress(done as f64 / all, &format!("pair {}", pairs.len() + 1));
            match run_pair(order, monitor, &mut run_trial)? {
                Some(pair) => pairs.push(pair),
                None => break,
            }
        }
        Ok(Trials { plan: self, pairs })
    }
}

/// Runs one pair; `None` if a stop is requested before its end.
fn run_pair<T, E>(
    order: Order,
    monitor: &dyn Monitor,
    run_trial: &mut impl FnMut(Arm) -> Result<T, E>,
) -> Result<Option<Pair<T>>, E> {
    let [first, second] = order.arms();
    if monitor.stop_requested() {
        return Ok(None);
    }
    let one = run_trial(first)?;
    if monitor.stop_requested() {
        return Ok(None);
    }
    let other = run_trial(second)?;
    let [a, b] = if first == Arm::A { [one, other] } else { [other, one] };
    Ok(Some(Pair { order, a, b }))
}

/// The measurements of one pair of trials.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Pair<T> {
    /// The arm that was measured first.
    pub order: Order,
    /// The measurement of arm A.
    pub a: T,
    /// The measurement of arm B.
    pub b: T,
}

/// The measurements of an experiment.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Trials<T> {
    /// The plan that was followed; an interrupted experiment has fewer pairs.
    pub plan: Plan,
    /// The completed pairs, in the order in which they ran.
    pub pairs: Vec<Pair<T>>,
}

impl<T> Trials<T> {
    /// Whether the experiment was stopped before its last pair.
    pub fn stopped(&self) -> bool {
        self.pairs.len() < self.plan.pairs
    }

    /// The order that ran: `AB BA BA AB`.
    pub fn order(&self) -> String {
        let orders: Vec<String> = self.pairs.iter().map(|pair| pair.order.to_string()).collect();
        orders.join(" ")
    }
}

#[cfg(test)]
mod tests {
    use std::convert::Infallible;
    use std::sync::atomic::{AtomicUsize, Ordering};

    use super::*;
    use crate::monitor::Silent;

    /// Requests a stop at the n-th call.
    struct StopAt(usize, AtomicUsize);

    impl Monitor for StopAt {
        fn progress(&self, fraction: f64, _doing: &str) {
            assert!((0.0..=1.0).contains(&fraction));
        }

        fn stop_requested(&self) -> bool {
            self.1.fetch_add(1, Ordering::Relaxed) + 1 >= self.0
        }
    }

    const PLAN: Plan = Plan { pairs: 100, warm_up: 2, seed: 5 };

    #[test]
    fn every_block_of_two_pairs_has_both_orders() {
        let order = PLAN.order();
        assert_eq!(order.len(), 100);
        assert!(order.chunks(2).all(|block| block[0] != block[1]));
        let first = order.chunks(2).filter(|block| block[0] == Order::AB).count();
        assert!((10..=40).contains(&first), "{first} of 50 blocks begin with A");
    }

    #[test]
    fn the_order_repeats_with_its_seed() {
        assert_eq!(PLAN.order(), PLAN.order());
        assert_ne!(PLAN.order(), Plan { seed: 6, ..PLAN }.order());
    }

    #[test]
    fn trials_follow_the_order_and_the_warm_up_does_not_count() {
        let mut seen = Vec::new();
        let trials = PLAN
            .run(&Silent, |arm| {
                seen.push(arm);
                Ok::<_, Infallible>(seen.len())
            })
            .unwrap();
        let expected = PLAN.order().into_iter().flat_map(Order::arms);
        assert_eq!(seen[..4], [Arm::A, Arm::B, Arm::A, Arm::B]);
        assert!(seen[4..].iter().copied().eq(expected));
        assert!(trials.pairs.iter().all(|pair| pair.a.min(pair.b) > 4));
        assert!(trials.pairs.iter().all(|pair| (pair.a < pair.b) == (pair.order == Order::AB)));
        assert!(!trials.stopped());
    }

    #[test]
    fn a_stop_keeps_whole_pairs_only() {
        // Two warm-up pairs ask four times; then the second trial of the
        // fourth pair is not made.
        let mut begun = 0;
        let trials = PLAN
            .run(&StopAt(12, AtomicUsize::new(0)), |_| {
                begun += 1;
                Ok::<_, Infallible>(())
            })
            .unwrap();
        assert_eq!((begun, trials.pairs.len(), trials.stopped()), (11, 3, true));
        assert_eq!(trials.order().len(), 3 * 2 + 2);
    }

    #[test]
    fn a_stop_during_the_warm_up_leaves_nothing() {
        let stop = StopAt(2, AtomicUsize::new(0));
        let trials = PLAN.run(&stop, |_| Ok::<_, Infallible>(())).unwrap();
        assert!(trials.pairs.is_empty() && trials.stopped());
    }

    #[test]
    fn an_error_ends_it() {
        let mut trials = 0;
        let result = PLAN.run(&Silent, |_| {
            trials += 1;
            if trials == 7 { Err("lost the device") } else { Ok(()) }
        });
        assert_eq!((result.unwrap_err(), trials), ("lost the device", 7));
    }
}
