//! Parking and waking threads: plain `futex(2)`.

use std::sync::atomic::AtomicU32;

use rustix::thread::futex::{self, Flags, Timespec};

use unjank_units::Nanos;

/// The threads that may wait on a word.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Scope {
    /// Threads of this process only; slightly cheaper.
    Process,
    /// Threads of any process that has the word mapped.
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

/// Parks the calling thread while `word` holds `value`, for `at_most`. May
/// return early without a reason: the caller checks the word.
#[inline]
pub fn wait(word: &AtomicU32, value: u32, scope: Scope, at_most: Nanos) {
    let timeout = Timespec {
        tv_sec: (at_most.get() / 1_000_000_000) as i64,
        tv_nsec: (at_most.get() % 1_000_000_000) as _,
    };
    // After EAGAIN (the word has changed), EINTR and ETIMEDOUT, the caller
    // checks the word.
    let _look_again = futex::wait(word, scope.flags(), value, Some(&timeout));
}

/// Wakes at most `threads` threads that are parked on `word`.
#[inline]
pub fn wake(word: &AtomicU32, threads: u32, scope: Scope) {
    // For a valid aligned word FUTEX_WAKE has no error.
    let _how_many = futex::wake(word, scope.flags(), threads);
}
