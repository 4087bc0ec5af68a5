//! Parking and waking threads: `futex(2)`, nothing added.

use std::sync::atomic::AtomicU32;

use rustix::thread::futex::{self, Flags, Timespec};

use unjank_units::Nanos;

/// Who may wait on a word.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Scope {
    /// Threads of this process only; a little cheaper.
    Process,
    /// Any process that has the word mapped.
    Shared,
}

impl Scope {
    fn flags(self) -> Flags {
        match self {
            Self::Process => Flags::PRIVATE,
            Self::Shared => Flags::empty(),
        }
    }
}

/// Parks the calling thread while `word` holds `value`, at most for
/// `at_most`. May return early for no reason: the caller looks at the word.
#[inline]
pub fn wait(word: &AtomicU32, value: u32, scope: Scope, at_most: Nanos) {
    let timeout = Timespec {
        tv_sec: (at_most.get() / 1_000_000_000) as i64,
        tv_nsec: (at_most.get() % 1_000_000_000) as _,
    };
    // EAGAIN (the word has changed), EINTR and ETIMEDOUT all mean: look again.
    let _look_again = futex::wait(word, scope.flags(), value, Some(&timeout));
}

/// Wakes at most `threads` threads that are parked on `word`.
#[inline]
pub fn wake(word: &AtomicU32, threads: u32, scope: Scope) {
    // For a valid aligned word FUTEX_WAKE has no error.
    let _how_many = futex::wake(word, scope.flags(), threads);
}
