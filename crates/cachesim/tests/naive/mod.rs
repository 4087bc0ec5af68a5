//! Policies as their papers describe them, with queues that are searched.

mod adaptive;
mod chosen;
mod clock_pro;
mod density;
mod frequent;
mod queues;
mod segmented;
mod stacked;

use unjank_cachesim::Policy;

/// A simple, slow implementation of a policy.
pub(super) trait Naive {
    fn contains(&self, page: u32) -> bool;
    /// Returns the page that leaves.
    fn request(&mut self, page: u32) -> Option<u32>;
    /// Returns whether the page was in the cache.
    fn remove(&mut self, page: u32) -> bool;
}

/// The naive policy for `pages` different pages with room for `capacity`.
pub(super) fn of(policy: Policy, capacity: usize, pages: usize) -> Box<dyn Naive> {
    match policy {
        Policy::Fifo => Box::new(queues::Fifo::new(capacity)),
        Policy::Lru => Box::new(queues::Lru::new(capacity)),
        Policy::Clock(_) => Box::new(queues::Clock::new(capacity)),
        Policy::ClockPro => Box::new(clock_pro::ClockPro::new(capacity)),
        Policy::Sieve => Box::new(queues::Sieve::new(capacity)),
        Policy::S3Fifo(_) => Box::new(segmented::S3Fifo::new(capacity)),
        Policy::TwoQ(_) => Box::new(segmented::TwoQ::new(capacity)),
        Policy::Arc => Box::new(adaptive::Arc::new(capacity)),
        Policy::Larc => Box::new(adaptive::Larc::new(capacity)),
        Policy::Lirs(chosen) => Box::new(stacked::Lirs::new(capacity, chosen.stack.get())),
        Policy::WTinyLfu(chosen) => {
            let counts = frequent::Sketch::new(capacity, pages);
            Box::new(frequent::WTinyLfu::new(capacity, counts).climbing(chosen.climb == 1))
        }
        Policy::WTinyLfuExact(_) => {
            Box::new(frequent::WTinyLfu::new(capacity, frequent::Exact::new(capacity)))
        }
        Policy::Slru(_) => Box::new(segmented::Slru::new(capacity)),
        Policy::Lfu => Box::new(chosen::Lfu::new(capacity, false)),
        Policy::LfuDa => Box::new(chosen::Lfu::new(capacity, true)),
        Policy::Car => Box::new(adaptive::Car::new(capacity)),
        Policy::LeCar(_) => Box::new(chosen::LeCar::new(capacity)),
        Policy::Hyperbolic(_) => Box::new(chosen::Hyperbolic::new(capacity)),
        Policy::Lhd(chosen) => Box::new(density::Lhd::new(capacity, chosen.period.get())),
        Policy::Mq(_) => Box::new(frequent::Mq::new(capacity)),
    }
}

/// Removes a page from anywhere in a queue. Returns whether it was there.
pub(super) fn take(queue: &mut std::collections::VecDeque<u32>, page: u32) -> bool {
    let at = queue.iter().position(|other| *other == page);
    at.is_some_and(|at| queue.remove(at).is_some())
}
