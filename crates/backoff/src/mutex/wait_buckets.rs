//! Wait buckets: words on which threads sleep until their ticket is called.
//!
//! A futex has a bit set of 32 bits to select sleepers. With thousands of tickets
//! on one word, each call would wake hundreds of threads. So there are many words,
//! and lock and ticket select word and bit. Two threads with the same word and bit
//! wake for each other, look, and sleep again.

use core::num::NonZeroU32;

use crate::os;
use crate::sync::{Acquire, AtomicU32, Release};

/// Number of words, and of bits to select sleepers on each.
const WORDS: u32 = if cfg!(loom) { 2 } else { 256 };
const BITS: u32 = 32;

#[cfg(not(loom))]
static WORD: [AtomicU32; WORDS as usize] = [const { AtomicU32::new(0) }; WORDS as usize];

#[cfg(loom)]
loom::lazy_static! {
    static ref WORD: [AtomicU32; 2] = [AtomicU32::new(0), AtomicU32::new(0)];
}

/// The word and bit of one ticket of one lock; others may share it.
#[derive(Clone, Copy)]
pub(super) struct WaitBucket {
    word: usize,
    bit: NonZeroU32,
}

impl WaitBucket {
    /// Consecutive tickets and adjacent locks get different buckets.
    pub(super) fn new(lock: usize, ticket: u32) -> Self {
        let of_lock = (lock / 64) as u32;
        let word = (ticket / BITS).wrapping_add(of_lock) % WORDS;
        let bit = NonZeroU32::new(1 << (ticket % BITS)).unwrap_or(NonZeroU32::MAX);
        Self { word: word as usize, bit }
    }

    /// Sleeps until a wake-up, unless `is_called` already.
    pub(super) fn wait_unless(self, is_called: impl Fn() -> bool) {
        // Pairs with `wake`: `is_called` sees what happened before an earlier wake-up.
        let seen = WORD[self.word].load(Acquire);
        if !is_called() {
            os::wait(&WORD[self.word], seen, self.bit);
        }
    }

    pub(super) fn wake(self) {
        WORD[self.word].fetch_add(1, Release);
        os::wake_all(&WORD[self.word], self.bit);
    }
}
