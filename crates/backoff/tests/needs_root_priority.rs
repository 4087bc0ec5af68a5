//! A real-time thread waits for an ordinary one on its own CPU. A thread that spins
//! there would wait for ever, because the other one never runs. (Real-time
//! throttling would end that; these tests fail long before.)
//!
//! Needs root. Fails without it when `UNJANK_TEST_ALL=1`, otherwise says that
//! it was skipped.

// A test fails by panicking, also where it prepares itself; scheduling policies
// have no safe wrapper.
#![allow(clippy::unwrap_used, unsafe_code)]

use std::mem::zeroed;
use std::sync::Barrier;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};
use unjank_backoff::{Backoff, Mutex, Signal, Wait, WorkQueue};

/// Real-time throttling ends such an inversion after 950 ms; the tests allow less
/// than a tenth of that.
const THROTTLING: Duration = Duration::from_millis(950);

/// Puts the calling thread on one CPU, and makes it FIFO if it is `urgent`.
fn settle(urgent: bool) {
    unjank_backoff::calibrate::calibrate();
    let allowed = sched_getaffinity(None).unwrap();
    let cpu = (0..CpuSet::MAX_CPU).find(|&cpu| allowed.is_set(cpu)).unwrap();
    let mut one = CpuSet::new();
    one.set(cpu);
    sched_setaffinity(None, &one).unwrap();
    if urgent {
        // SAFETY: zeroes are a valid sched_param, on which the call only reads
        // (sched_setscheduler(2)).
        let result = unsafe {
            let mut param: libc::sched_param = zeroed();
            param.sched_priority = 1;
            libc::sched_setscheduler(0, libc::SCHED_FIFO, &raw const param)
        };
        assert_eq!(result, 0, "{}", std::io::Error::last_os_error());
    }
}

/// Runs both on one CPU, the ordinary one first. Returns the CPU time of the urgent
/// one, which is long if it spins.
fn together(ordinary: impl FnOnce() + Send, urgent: impl FnOnce() + Send) -> Duration {
    thread::scope(|scope| {
        scope.spawn(|| {
            settle(false);
            ordinary();
        });
        let urgent = scope.spawn(|| {
            settle(true);
            let begun = own_cpu_time();
            urgent();
            own_cpu_time().saturating_sub(begun)
        });
        urgent.join().unwrap()
    })
}

fn own_cpu_time() -> Duration {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::ThreadCPUTime);
    Duration::new(time.tv_sec.unsigned_abs(), u32::try_from(time.tv_nsec).unwrap())
}

/// Ordinary work for longer than any budget of a spin.
fn work() {
    let begun = Instant::now();
    while begun.elapsed() < Duration::from_millis(20) {
        std::hint::spin_loop();
    }
}

fn is_possible() -> bool {
    unjank_needs::root()
}

#[test]
fn a_fifo_waiter_lets_the_holder_run() {
    if !is_possible() {
        return;
    }
    let lock = Mutex::new(0);
    // Waiting for this costs the urgent one no CPU time, however long it takes.
    let held = Barrier::new(2);
    for _ in 0..5 {
        let burnt = together(
            || {
                let mut guard = lock.lock();
                held.wait();
                work();
                *guard += 1;
            },
            || {
                held.wait();
                *lock.lock() += 1;
            },
        );
        assert!(burnt < THROTTLING / 10, "it has spun for {burnt:?}");
    }
    assert_eq!(lock.into_inner(), 10);
}

#[test]
fn a_fifo_waiter_takes_turns_with_a_busy_holder() {
    if !is_possible() {
        return;
    }
    let lock = Mutex::new(0);
    let over = AtomicBool::new(false);
    let burnt = together(
        || {
            while !over.load(Ordering::SeqCst) {
                *lock.lock() += 1;
            }
        },
        || {
            for _ in 0..50 {
                thread::sleep(Duration::from_micros(500));
                *lock.lock() += 1;
            }
            over.store(true, Ordering::SeqCst);
        },
    );
    assert!(burnt < THROTTLING / 10, "it has spun for {burnt:?}");
}

#[test]
fn a_fifo_thread_waits_for_a_flag() {
    if !is_possible() {
        return;
    }
    for way in 0..3 {
        let ready = AtomicBool::new(false);
        let changed = Signal::new();
        let is_ready = || ready.load(Ordering::Acquire);
        let burnt = together(
            || {
                work();
                ready.store(true, Ordering::Release);
                changed.notify_all();
            },
            || match way {
                0 => changed.wait_until(is_ready),
                1 => assert!(Wait::new().until(is_ready)),
                _ => {
                    let backoff = Backoff::new();
                    while !is_ready() {
                        backoff.snooze();
                    }
                }
            },
        );
        assert!(burnt < THROTTLING / 10, "way {way} has spun for {burnt:?}");
    }
}

#[test]
fn a_fifo_worker_waits_for_work() {
    if !is_possible() {
        return;
    }
    let queue = WorkQueue::new();
    let burnt = together(
        || {
            for _ in 0..20 {
                work();
                queue.push(1).unwrap();
            }
            queue.close();
        },
        || assert_eq!(std::iter::from_fn(|| queue.pop()).sum::<i32>(), 20),
    );
    assert!(burnt < THROTTLING / 10, "it has spun for {burnt:?}");
}
