//! Words on which threads sleep until their ticket is called.
//!
//! A futex tells apart 32 kinds of sleepers. With thousands of tickets on one
//! word, each call would wake hundreds, so there are many words, and a thread
//! sleeps on the one of its lock and ticket. Two threads that share word and
//! kind wake for each other, look, and sleep again.

use core::num::NonZeroU32;

use crate::os;
use crate::sync::{Acquire, AtomicU32, Release};

/// Words, and kinds of sleepers on each.
const WORDS: u32 = if cfg!(loom) { 2 } else { 256 };
const KINDS: u32 = 32;

#[cfg(not(loom))]
static WORD: [AtomicU32; WORDS as usize] = [const { AtomicU32::new(0) }; WORDS as usize];

#[cfg(loom)]
loom::lazy_static! {
    static ref WORD: [AtomicU32; 2] = [AtomicU32::new(0), AtomicU32::new(0)];
}

/// What one ticket of one lock listens to. It rings for others, too.
#[derive(Clone, Copy)]
pub(super) struct Bell {
    word: usize,
    kind: NonZeroU32,
}

impl Bell {
    /// Tickets that follow each other, and locks that lie beside each other,
    /// are far apart.
    pub(super) fn new(lock: usize, ticket: u32) -> Self {
        let of_lock = (lock / 64) as u32;
        let word = (ticket / KINDS).wrapping_add(of_lock) % WORDS;
        let kind = NonZeroU32::new(1 << (ticket % KINDS)).unwrap_or(NonZeroU32::MAX);
        Self { word: word as usize, kind }
    }

    /// Sleeps until it rings, unless `is_called` already.
    pub(super) fn listen(self, is_called: impl Fn() -> bool) {
        // Pairs with `ring`: what was rung for before is seen by `is_called`.
        let seen = WORD[self.word].load(Acquire);
        if !is_called() {
            os::wait(&WORD[self.word], seen, self.kind);
        }
    }

    pub(super) fn ring(self) {
        WORD[self.word].fetch_add(1, Release);
        os::wake_all(&WORD[self.word], self.kind);
    }
}
