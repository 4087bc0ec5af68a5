//! Stress tests: many threads, seeded choices, and a watchdog that ends the process
//! if they hang.

// A test fails by panicking, also where it prepares itself.
#![allow(clippy::unwrap_used)]

use std::process;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use unjank_backoff::calibrate::{self, Costs};
use unjank_backoff::ticks::Ticks;
use unjank_backoff::{Condvar, Mutex, Pool, Signal, WorkQueue};

/// Far longer than any of these tests takes, even under an emulator on a busy
/// machine.
const LONG: Duration = Duration::from_secs(1_200);

/// Ends the process if a test hangs, because a hanging test prints nothing.
struct Watchdog(Arc<AtomicBool>);

impl Watchdog {
    fn new(what: &'static str) -> Self {
        let over = Arc::new(AtomicBool::new(false));
        let seen = Arc::clone(&over);
        thread::spawn(move || {
            let begun = Instant::now();
            while !seen.load(Ordering::Relaxed) {
                if begun.elapsed() > LONG {
                    // Prints the message to standard error.
                    let said = std::panic::catch_unwind(|| panic!("{what} hangs"));
                    assert!(said.is_err());
                    process::abort();
                }
                thread::sleep(Duration::from_millis(50));
            }
        });
        Self(over)
    }
}

impl Drop for Watchdog {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

/// The generator `SplitMix` (Steele, Lea, Flood: Fast splittable pseudorandom number
/// generators, 2014).
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }
}

fn work(turns: u64) {
    for turn in 0..turns {
        std::hint::black_box(turn);
    }
}

/// Each thread adds to a number that only the lock protects. The sections are
/// random: nothing, some loops, a yield, or a sleep longer than a hand-off.
fn additions(threads: u64, times: u64, seed: u64) {
    let _watchdog = Watchdog::new("the lock");
    let sum = Mutex::new((0_u64, 0_u64));
    thread::scope(|scope| {
        for n in 0..threads {
            let sum = &sum;
            let mut random = Random(seed ^ n);
            scope.spawn(move || {
                for _ in 0..times {
                    let chosen = random.next();
                    let mut guard = match chosen % 16 {
                        0 => loop {
                            if let Some(guard) = sum.try_lock() {
                                break guard;
                            }
                            thread::yield_now();
                        },
                        _ => sum.lock(),
                    };
                    guard.0 += 1;
                    match chosen >> 8 & 0x3ff {
                        0 => thread::sleep(Duration::from_micros(1_500)),
                        1..32 => thread::yield_now(),
                        other => work(other),
                    }
                    guard.1 += 1;
                    drop(guard);
                    work(chosen >> 32 & 0xfff);
                }
            });
        }
    });
    assert_eq!(*sum.lock(), (threads * times, threads * times), "seed {seed}");
}

#[test]
fn two_threads() {
    additions(2, 5_000, 1);
}

#[test]
fn more_threads_than_cpus() {
    for seed in 0..5 {
        additions(12, 500, seed);
    }
}

#[test]
fn empty_sections() {
    let _watchdog = Watchdog::new("the lock");
    let sum = Mutex::new(0_u64);
    thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| (0..200_000).for_each(|_| *sum.lock() += 1));
        }
    });
    assert_eq!(sum.into_inner(), 800_000);
}

/// A section without waiters at its beginning ends with a store. Here it ends while
/// others are about to fall asleep, at random moments: each of them has to be woken,
/// or to see that the section has ended.
#[test]
fn sections_end_while_a_waiter_falls_asleep() {
    let _watchdog = Watchdog::new("a plain section");
    // So cheap that threads park at once.
    calibrate::set(Costs { park: Ticks::ZERO, ..calibrate::calibrate() });
    let sum = Mutex::new(0_u64);
    let times = 5_000;
    thread::scope(|scope| {
        for n in 0..3 {
            let sum = &sum;
            let mut random = Random(n);
            scope.spawn(move || {
                for _ in 0..times {
                    let chosen = random.next();
                    let mut guard = sum.lock();
                    work(chosen & 0x7fff);
                    *guard += 1;
                    drop(guard);
                    work(chosen >> 32 & 0xffff);
                }
            });
        }
    });
    assert_eq!(sum.into_inner(), 3 * times);
}

/// All wait for a long section, and each gets the lock.
#[test]
fn ten_thousand_threads() {
    let _watchdog = Watchdog::new("ten thousand threads");
    let sum = Mutex::new(0_u64);
    let first = sum.lock();
    let mut started = 0_u64;
    thread::scope(|scope| {
        for _ in 0..10_000 {
            let thread = thread::Builder::new().stack_size(64 << 10);
            // The process or the machine may allow fewer.
            match thread.spawn_scoped(scope, || *sum.lock() += 1) {
                Ok(_) => started += 1,
                Err(_) => break,
            }
        }
        thread::sleep(Duration::from_millis(20));
        drop(first);
    });
    assert!(started > 100, "only {started} threads could be started");
    assert_eq!(sum.into_inner(), started);
}

#[test]
fn a_panic_releases_the_lock() {
    let _watchdog = Watchdog::new("a lock that a panic released");
    let lock = Arc::new(Mutex::new(0));
    for _ in 0..50 {
        let theirs = Arc::clone(&lock);
        let waiter = thread::spawn({
            let lock = Arc::clone(&lock);
            move || *lock.lock() += 1
        });
        let holder = thread::Builder::new().name("as expected".into());
        let panicked = holder
            .spawn(move || {
                let _guard = theirs.lock();
                std::panic::resume_unwind(Box::new("as expected"));
            })
            .unwrap();
        assert!(panicked.join().is_err());
        waiter.join().unwrap();
    }
    assert_eq!(*lock.lock(), 50);
}

/// Hoare's bounded buffer (Monitors, 1974): producers and consumers wait for each
/// other, so a lost notification stops them all.
#[test]
fn a_buffer_of_three() {
    let _watchdog = Watchdog::new("the buffer");
    let each = 20_000_u64;
    let buffer = Mutex::new(Vec::with_capacity(3));
    let (filled, emptied) = (Condvar::new(), Condvar::new());
    let sum = AtomicU64::new(0);
    thread::scope(|scope| {
        for _ in 0..3 {
            scope.spawn(|| {
                for item in 1..=each {
                    let mut items = buffer.lock();
                    emptied.wait_while(&mut items, |items: &mut Vec<u64>| items.len() == 3);
                    items.push(item);
                    drop(items);
                    filled.notify_one();
                }
            });
            scope.spawn(|| {
                for _ in 1..=each {
                    let mut items = buffer.lock();
                    filled.wait_while(&mut items, |items| items.is_empty());
                    sum.fetch_add(items.pop().unwrap(), Ordering::Relaxed);
                    drop(items);
                    emptied.notify_one();
                }
            });
        }
    });
    assert_eq!(sum.into_inner(), 3 * each * (each + 1) / 2);
}

/// Threads pass a turn around: only one waiter's condition is true at a time.
#[test]
fn a_turn_that_goes_round() {
    let _watchdog = Watchdog::new("the turn");
    let (players, rounds) = (6, 2_000);
    let turn = AtomicU64::new(0);
    let changed = Signal::new();
    thread::scope(|scope| {
        for player in 0..players {
            let (turn, changed) = (&turn, &changed);
            scope.spawn(move || {
                for round in 0..rounds {
                    let mine = round * players + player;
                    changed.wait_until(|| turn.load(Ordering::Acquire) == mine);
                    turn.store(mine + 1, Ordering::Release);
                    changed.notify_all();
                }
            });
        }
    });
    assert_eq!(turn.into_inner(), players * rounds);
}

/// Work with gaps of all lengths: it is taken by a poller, after a nap, or by a
/// thread that was parked.
#[test]
fn a_queue_with_gaps() {
    let _watchdog = Watchdog::new("the queue");
    let queue = WorkQueue::new();
    let mut random = Random(7);
    let taken: u64 = thread::scope(|scope| {
        let takers: Vec<_> = (0..3)
            .map(|_| scope.spawn(|| std::iter::from_fn(|| queue.pop()).sum::<u64>()))
            .collect();
        for _ in 0..2_000 {
            let chosen = random.next();
            match chosen % 64 {
                0 => thread::sleep(Duration::from_micros(chosen >> 32 & 0x7ff)),
                1..16 => work(chosen >> 32 & 0xffff),
                _ => {}
            }
            queue.push(1).unwrap();
        }
        queue.close();
        takers.into_iter().map(|taker| taker.join().unwrap()).sum()
    });
    assert_eq!(taken, 2_000);
}

/// With steady work a queue naps; no work may be left in it.
#[test]
fn a_queue_with_steady_gaps() {
    let _watchdog = Watchdog::new("the queue");
    let pool = Pool::new(2).unwrap();
    for _ in 0..300 {
        thread::sleep(Duration::from_micros(500));
        assert_eq!(pool.spawn(|| 1).join().unwrap(), 1);
    }
}

#[test]
fn pools_come_and_go() {
    let _watchdog = Watchdog::new("the pool");
    for threads in 1..=4 {
        for _ in 0..20 {
            let pool = Pool::new(threads).unwrap();
            let tasks: Vec<_> = (0..20_u64).map(|n| pool.spawn(move || n)).collect();
            assert_eq!(tasks.into_iter().map(|task| task.join().unwrap()).sum::<u64>(), 190);
        }
    }
}
