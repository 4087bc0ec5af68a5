//! Futexes and sleeps for loom models.
//!
//! Sleepers wait on one condition variable under one mutex, which also covers
//! the comparison with the word, as the kernel's bucket lock does.
//!
//! A model runs twice. With timers, each look at the clock is 0.3 ms after the last,
//! and a sleep with a deadline ends at once, so waiters are overdue soon. Without
//! timers, deadlines are ignored, so a lost wake-up is a deadlock, which loom
//! reports.

use core::num::NonZeroU32;
use core::time::Duration;
use std::vec::Vec;

use loom::sync::{Condvar, Mutex};
use loom::thread;

use crate::sync::{AtomicU32, Relaxed};

/// Time in a model.
pub mod model {
    use core::sync::atomic::{AtomicBool, Ordering};

    use crate::ticks::Ticks;

    static TIMERS: AtomicBool = AtomicBool::new(true);

    /// Sets whether sleeps with a deadline end by themselves. Call it before a model
    /// runs.
    pub fn with_timers(fire: bool) {
        TIMERS.store(fire, Ordering::SeqCst);
    }

    pub(crate) fn timers_fire() -> bool {
        TIMERS.load(Ordering::SeqCst)
    }

    pub(crate) fn time_between_looks() -> Ticks {
        Ticks::from_nanos(if timers_fire() { 300_000 } else { 30_000 })
    }
}

/// A thread that sleeps.
struct Sleeper {
    word: usize,
    bits: NonZeroU32,
    ticket: usize,
}

loom::lazy_static! {
    static ref BUCKET: Mutex<(Vec<Sleeper>, usize)> = Mutex::new((Vec::new(), 0));
    static ref WOKEN: Condvar = Condvar::new();
}

fn address(word: &AtomicU32) -> usize {
    core::ptr::from_ref(word) as usize
}

pub(crate) fn wait(word: &AtomicU32, seen: u32, bits: NonZeroU32) {
    let mut bucket = BUCKET.lock().expect("no model panics with it");
    if word.load(Relaxed) != seen {
        return;
    }
    let ticket = bucket.1;
    bucket.1 += 1;
    bucket.0.push(Sleeper { word: address(word), bits, ticket });
    while bucket.0.iter().any(|sleeper| sleeper.ticket == ticket) {
        bucket = WOKEN.wait(bucket).expect("no model panics with it");
    }
}

pub(crate) fn wait_for(word: &AtomicU32, seen: u32, _: Duration) {
    if model::timers_fire() {
        thread::yield_now();
    } else {
        wait(word, seen, NonZeroU32::MAX);
    }
}

pub(crate) fn wake(word: &AtomicU32) {
    let mut bucket = BUCKET.lock().expect("no model panics with it");
    if let Some(first) = bucket.0.iter().position(|sleeper| sleeper.word == address(word)) {
        bucket.0.remove(first);
        WOKEN.notify_all();
    }
}

pub(crate) fn wake_all(word: &AtomicU32, bits: NonZeroU32) {
    let mut bucket = BUCKET.lock().expect("no model panics with it");
    bucket.0.retain(|s| s.word != address(word) || s.bits.get() & bits.get() == 0);
    WOKEN.notify_all();
}

pub(crate) fn sleep(_: Duration) {
    thread::yield_now();
}

pub(crate) fn with_exact_timers<T>(with: impl FnOnce() -> T) -> T {
    with()
}
