//! One trial: a thread gives work to a pool, one piece after the other.

use std::hint;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use unjank_host::clock::{process_cpu_time, thread_cpu_time};
use unjank_host::sched::ExactTimers;
use unjank_host::{Nanos, Timestamp};
use unjank_measure::Series;

use super::pool::{Pool, PoolKind};
use super::results::TrialResult;
use super::work::Work;
use crate::energy::ReadEnergy;
use crate::error::Result;

/// Pieces of work before the first that counts, so that a pool can learn.
const WARM_UP: u32 = 20;

/// The value of `begun` until the work begins.
const NOT_YET: u64 = 0;

/// Gives work to a new pool for `length`. The giver sleeps between two pieces, with
/// exact timers, and only then reads when the last one began, so it takes no CPU
/// from the pool. Without a gap it spins until the last one begins.
pub(super) fn run(
    kind: PoolKind,
    threads: usize,
    gap: Nanos,
    length: Nanos,
    energy: ReadEnergy<'_>,
) -> Result<TrialResult> {
    let pool = Pool::start(kind, threads)?;
    let _exact = ExactTimers::new()?;
    let mut giver = Giver::new(pool, gap);
    for _ in 0..WARM_UP {
        giver.give();
    }
    let mut latencies = Series::new("lock/pool/spawn_to_start");
    let before = energy();
    let start = Timestamp::now();
    let (all, own) = (process_cpu_time(), thread_cpu_time());
    while Timestamp::now().since(start) < length {
        latencies.record(giver.give());
    }
    let of_pool =
        Nanos((process_cpu_time() - all).get().saturating_sub((thread_cpu_time() - own).get()));
    let took = Timestamp::now().since(start);
    let used = energy().zip(before).map(|(after, before)| after - before);
    let watts = used.map(|used| used.0 / took.as_secs_f64().max(1e-9));
    Ok(TrialResult { latencies, cpus: of_pool.get() as f64 / took.get().max(1) as f64, watts })
}

/// Gives work at a steady pace.
struct Giver {
    pool: Pool,
    gap: Nanos,
    next: Timestamp,
    begun: Arc<AtomicU64>,
}

impl Giver {
    fn new(pool: Pool, gap: Nanos) -> Self {
        Self { pool, gap, next: Timestamp::now() + gap, begun: Arc::new(AtomicU64::new(NOT_YET)) }
    }

    /// Gives one piece, and returns how long it took to begin.
    fn give(&mut self) -> Nanos {
        let begun = Arc::clone(&self.begun);
        begun.store(NOT_YET, Ordering::Relaxed);
        let given = Timestamp::now();
        // Pairs with the load in `wait`.
        let work: Work = Box::new(move || {
            begun.store(Timestamp::now().since(given).get() + 1, Ordering::Release);
        });
        self.pool.spawn(work);
        self.pause();
        self.wait()
    }

    /// Sleeps until the next piece is due.
    fn pause(&mut self) {
        if self.gap > Nanos::ZERO {
            self.next.sleep_until();
            self.next = self.next.max(Timestamp::now()) + self.gap;
        }
    }

    fn wait(&self) -> Nanos {
        loop {
            let begun = self.begun.load(Ordering::Acquire);
            if begun != NOT_YET {
                return Nanos(begun - 1);
            }
            hint::spin_loop();
        }
    }
}
