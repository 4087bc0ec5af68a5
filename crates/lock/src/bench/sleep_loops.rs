//! The four loops of Olivas and Chynoweth, *Benefitting Power and Performance
//! Sleep Loops* (Intel, tables 1 to 3), on Linux: `Sleep(0)` is
//! `sched_yield(2)` there, and `Sleep(1)` a `nanosleep(2)` of a millisecond.

use std::hint;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use unjank_host::Result;

use super::tested_lock::TestedLock;

/// `max_spin_count`, which the paper does not give: as many pauses as the
/// standard library's mutex makes, so that the two differ in what follows.
const MAX_SPIN_COUNT: u32 = 100;

/// A lock flag. Taking it (acquire) pairs with giving it back (release).
#[derive(Debug, Default)]
pub(super) struct Flag(AtomicBool);

impl Flag {
    #[inline]
    pub(super) fn acquire(&self) -> bool {
        !self.0.swap(true, Ordering::Acquire)
    }

    #[inline]
    pub(super) fn looks_free(&self) -> bool {
        !self.0.load(Ordering::Relaxed)
    }

    /// Runs `section` and releases the flag, which this thread holds.
    #[inline]
    pub(super) fn held<R>(&self, section: impl FnOnce() -> R) -> R {
        let result = section();
        self.0.store(false, Ordering::Release);
        result
    }
}

/// Table 1: tries until it has the lock.
#[derive(Debug, Default)]
pub(super) struct Busy(Flag);

/// Table 2: `Sleep(0)` between two tries.
#[derive(Debug, Default)]
pub(super) struct Sleep0(Flag);

/// Table 2 with `Sleep(1)`.
#[derive(Debug, Default)]
pub(super) struct Sleep1(Flag);

/// Table 3: pauses with a look each, a try where the look says free, and
/// `Sleep(0)` after [`MAX_SPIN_COUNT`] of them.
#[derive(Debug, Default)]
pub(super) struct PauseYield(Flag);

impl TestedLock for Busy {
    fn new() -> Result<Self> {
        Ok(Self::default())
    }

    #[inline]
    fn with<R>(&self, section: impl FnOnce() -> R) -> R {
        while !self.0.acquire() {}
        self.0.held(section)
    }
}

impl TestedLock for Sleep0 {
    fn new() -> Result<Self> {
        Ok(Self::default())
    }

    #[inline]
    fn with<R>(&self, section: impl FnOnce() -> R) -> R {
        while !self.0.acquire() {
            thread::yield_now();
        }
        self.0.held(section)
    }
}

impl TestedLock for Sleep1 {
    fn new() -> Result<Self> {
        Ok(Self::default())
    }

    #[inline]
    fn with<R>(&self, section: impl FnOnce() -> R) -> R {
        while !self.0.acquire() {
            thread::sleep(Duration::from_millis(1));
        }
        self.0.held(section)
    }
}

impl PauseYield {
    #[cold]
    fn wait(&self) {
        loop {
            for _ in 0..MAX_SPIN_COUNT {
                hint::spin_loop();
                if self.0.looks_free() && self.0.acquire() {
                    return;
                }
            }
            thread::yield_now();
            if self.0.acquire() {
                return;
            }
        }
    }
}

impl TestedLock for PauseYield {
    fn new() -> Result<Self> {
        Ok(Self::default())
    }

    #[inline]
    fn with<R>(&self, section: impl FnOnce() -> R) -> R {
        if !self.0.acquire() {
            self.wait();
        }
        self.0.held(section)
    }
}
