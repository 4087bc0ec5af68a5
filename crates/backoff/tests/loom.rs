//! Loom models, which try all orders in which threads may run and see each other's
//! stores: `RUSTFLAGS="--cfg loom" cargo test -p unjank-backoff --test loom --release`.

#![cfg(loom)]
#![expect(clippy::unwrap_used, reason = "a model that fails has failed")]

use std::sync::{Mutex, PoisonError};

use loom::cell::UnsafeCell;
use loom::model::Builder;
use loom::sync::Arc;
use loom::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use loom::thread;
use unjank_backoff::idle::Gaps;
use unjank_backoff::os::model::with_timers;
use unjank_backoff::ticks::Ticks;
use unjank_backoff::{Condvar, RawMutex, Signal, WorkQueue};

/// A number that only the holder of the lock touches. Loom fails the model if two
/// threads do so at once, or if one does not see the other's store.
struct Counter {
    lock: RawMutex,
    count: UnsafeCell<usize>,
}

// SAFETY-like promise of the lock, which the models test.
#[allow(unsafe_code)]
unsafe impl Sync for Counter {}
#[allow(unsafe_code)]
unsafe impl Send for Counter {}

impl Counter {
    fn new() -> Self {
        Self { lock: RawMutex::new(), count: UnsafeCell::new(0) }
    }

    fn add(&self) {
        self.lock.acquire();
        self.touch();
        self.lock.release();
    }

    fn touch(&self) {
        self.count.with_mut(|count| {
            #[allow(unsafe_code)]
            // SAFETY: the lock is held; loom checks that nobody else is here.
            unsafe {
                *count += 1;
            }
        });
    }

    fn get(&self) -> usize {
        self.lock.acquire();
        #[allow(unsafe_code)]
        // SAFETY: as above.
        let count = self.count.with(|count| unsafe { *count });
        self.lock.release();
        count
    }
}

/// Runs a model with as many preemptions as can be tried in a minute or two.
fn model(timers: bool, preemptions: usize, run: impl Fn() + Sync + Send + 'static) {
    // The setting of timers is global.
    static ONE_MODEL: Mutex<()> = Mutex::new(());
    let _one = ONE_MODEL.lock().unwrap_or_else(PoisonError::into_inner);
    with_timers(timers);
    let mut builder = Builder::new();
    builder.preemption_bound = Some(preemptions);
    builder.max_branches = 20_000;
    builder.check(run);
}

fn exclusion(timers: bool, preemptions: usize, threads: usize, times: usize) {
    model(timers, preemptions, move || {
        let counter = Arc::new(Counter::new());
        let others: Vec<_> = (1..threads)
            .map(|_| {
                let counter = Arc::clone(&counter);
                thread::spawn(move || (0..times).for_each(|_| counter.add()))
            })
            .collect();
        (0..times).for_each(|_| counter.add());
        others.into_iter().for_each(|other| other.join().unwrap());
        assert_eq!(counter.get(), threads * times);
    });
}

#[test]
fn one_holds_the_lock_at_a_time_with_timers() {
    exclusion(true, 3, 2, 2);
}

#[test]
fn one_holds_the_lock_at_a_time_without_timers() {
    exclusion(false, 3, 2, 2);
}

#[test]
fn three_threads_with_timers() {
    exclusion(true, 2, 3, 1);
}

#[test]
fn three_threads_without_timers() {
    exclusion(false, 2, 3, 1);
}

#[test]
fn trying_excludes_as_well() {
    model(true, 3, || {
        let counter = Arc::new(Counter::new());
        let other = {
            let counter = Arc::clone(&counter);
            thread::spawn(move || {
                let held = counter.lock.try_acquire();
                if held {
                    counter.touch();
                    counter.lock.release();
                }
                usize::from(held)
            })
        };
        counter.add();
        assert_eq!(1 + other.join().unwrap(), counter.get());
    });
}

#[test]
fn a_signal_is_not_lost() {
    for timers in [true, false] {
        model(timers, 3, || {
            let shared = Arc::new((Signal::new(), AtomicBool::new(false)));
            let waiter = {
                let shared = Arc::clone(&shared);
                thread::spawn(move || {
                    shared.0.wait_until(|| shared.1.load(Ordering::Acquire));
                })
            };
            shared.1.store(true, Ordering::Release);
            shared.0.notify_one();
            waiter.join().unwrap();
        });
    }
}

#[test]
fn a_signal_for_two_wakes_two() {
    model(false, 2, || {
        let shared = Arc::new((Signal::new(), AtomicBool::new(false)));
        let waiters: Vec<_> = (0..2)
            .map(|_| {
                let shared = Arc::clone(&shared);
                thread::spawn(move || {
                    shared.0.wait_until(|| shared.1.load(Ordering::Acquire));
                })
            })
            .collect();
        shared.1.store(true, Ordering::Release);
        shared.0.notify_all();
        waiters.into_iter().for_each(|waiter| waiter.join().unwrap());
    });
}

#[test]
fn a_notification_under_the_lock_is_not_lost() {
    model(false, 3, || {
        let shared = Arc::new((RawMutex::new(), Condvar::new(), AtomicUsize::new(0)));
        let waiter = {
            let shared = Arc::clone(&shared);
            thread::spawn(move || {
                shared.0.acquire();
                while shared.2.load(Ordering::Relaxed) == 0 {
                    shared.1.wait_raw(&shared.0);
                }
                shared.0.release();
            })
        };
        shared.0.acquire();
        shared.2.store(1, Ordering::Relaxed);
        shared.0.release();
        shared.1.notify_one();
        waiter.join().unwrap();
    });
}

/// Gaps in which a worker spins, naps, or parks.
const GAPS: [u64; 3] = [1_000, 1_000_000, 100_000_000];

/// Each of `takers` takes one of as many values, and none sleeps for ever.
fn hand_off(timers: bool, preemptions: usize, takers: usize) {
    for gap in GAPS {
        model(timers, preemptions, move || {
            let gaps = (0..40).fold(Gaps::NONE, |gaps, _| gaps.with(Ticks::from_nanos(gap)));
            let queue = Arc::new(WorkQueue::expecting(gaps));
            let others: Vec<_> = (0..takers)
                .map(|_| {
                    let queue = Arc::clone(&queue);
                    thread::spawn(move || queue.pop().unwrap())
                })
                .collect();
            (0..takers).for_each(|number| queue.push(number).unwrap());
            let mut taken: Vec<_> = others.into_iter().map(|other| other.join().unwrap()).collect();
            taken.sort_unstable();
            assert_eq!(taken, (0..takers).collect::<Vec<_>>());
        });
    }
}

#[test]
fn what_is_pushed_is_taken_with_timers() {
    hand_off(true, 3, 1);
    hand_off(true, 2, 2);
}

#[test]
fn what_is_pushed_is_taken_without_timers() {
    hand_off(false, 3, 1);
    hand_off(false, 2, 2);
}

#[test]
fn closing_a_queue_ends_waits() {
    for (timers, gap) in [(true, GAPS[1]), (false, GAPS[0]), (false, GAPS[1]), (false, GAPS[2])] {
        model(timers, 3, move || {
            let gaps = (0..40).fold(Gaps::NONE, |gaps, _| gaps.with(Ticks::from_nanos(gap)));
            let queue = Arc::new(WorkQueue::<u8>::expecting(gaps));
            let other = {
                let queue = Arc::clone(&queue);
                thread::spawn(move || queue.pop())
            };
            queue.close();
            assert_eq!(other.join().unwrap(), None);
        });
    }
}
