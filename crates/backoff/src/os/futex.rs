//! `futex(2)` for threads of this process, sleeps and timers.

use core::num::{NonZeroU32, NonZeroU64};
use core::time::Duration;

use rustix::thread::futex::{self, Flags};
use rustix::thread::{self, NanosleepRelativeResult};
use rustix::time::{ClockId, Timespec, clock_gettime};

use crate::sync::AtomicU32;

/// All bits: every wake-up reaches such a sleeper.
const ALL: NonZeroU32 = NonZeroU32::MAX;

/// Sleeps if `word` is `seen`, until a wake-up with one of `bits`. May return without
/// a reason.
pub(crate) fn wait(word: &AtomicU32, seen: u32, bits: NonZeroU32) {
    // Woken, interrupted or too late: the caller looks again in each case.
    let _ = futex::wait_bitset(word, Flags::PRIVATE, seen, None, bits);
}

/// Like [`wait`] with all bits, and with a time limit.
pub(crate) fn wait_for(word: &AtomicU32, seen: u32, at_most: Duration) {
    let until = after(at_most);
    let _ = futex::wait_bitset(word, Flags::PRIVATE, seen, Some(&until), ALL);
}

/// Wakes one thread that sleeps on `word`. Only its address is used, so the word may
/// be gone already.
pub(crate) fn wake(word: &AtomicU32) {
    let _ = futex::wake(word, Flags::PRIVATE, 1);
}

/// Wakes all threads that sleep on `word` with one of `bits`.
pub(crate) fn wake_all(word: &AtomicU32, bits: NonZeroU32) {
    let _ = futex::wake_bitset(word, Flags::PRIVATE, i32::MAX as u32, bits);
}

/// Sleeps; a signal ends the sleep early.
pub(crate) fn sleep(length: Duration) {
    let request = timespec(length);
    let (NanosleepRelativeResult::Ok
    | NanosleepRelativeResult::Interrupted(_)
    | NanosleepRelativeResult::Err(_)) = thread::nanosleep(&request);
}

/// Runs `with` with exact timers: by default the kernel may let them expire 50 µs
/// late, to save wake-ups (prctl(2)).
pub(crate) fn with_exact_timers<T>(with: impl FnOnce() -> T) -> T {
    if cfg!(miri) {
        return with();
    }
    let before = thread::current_timer_slack().ok().and_then(NonZeroU64::new);
    if before.is_some() {
        let _ = thread::set_current_timer_slack(NonZeroU64::new(1));
    }
    let result = with();
    if before.is_some() {
        let _ = thread::set_current_timer_slack(before);
    }
    result
}

/// A deadline on the clock of futexes.
fn after(length: Duration) -> Timespec {
    let now = clock_gettime(ClockId::Monotonic);
    let length = timespec(length);
    let nanos = now.tv_nsec + length.tv_nsec;
    let carry = nanos / 1_000_000_000;
    Timespec {
        tv_sec: now.tv_sec.saturating_add(length.tv_sec).saturating_add(carry),
        tv_nsec: nanos % 1_000_000_000,
    }
}

fn timespec(length: Duration) -> Timespec {
    Timespec {
        tv_sec: i64::try_from(length.as_secs()).unwrap_or(i64::MAX),
        tv_nsec: length.subsec_nanos().into(),
    }
}

#[cfg(test)]
mod tests {
    use core::sync::atomic::Ordering;
    use std::thread;
    use std::time::Instant;

    use super::*;

    #[test]
    fn a_word_that_differs_is_not_slept_on() {
        // It would be seen as a test that hangs.
        wait(&AtomicU32::new(1), 0, ALL);
        wait_for(&AtomicU32::new(1), 0, Duration::MAX);
    }

    #[test]
    fn a_wait_ends_by_itself_after_its_time() {
        let word = AtomicU32::new(0);
        wait_for(&word, 0, Duration::ZERO);
        let time = Duration::from_millis(1);
        // A wait may end early, but not each of ten.
        let lasts = (0..10).any(|_| {
            let begin = Instant::now();
            wait_for(&word, 0, time);
            begin.elapsed() >= time
        });
        assert!(lasts);
    }

    #[test]
    fn bits_choose_who_wakes() {
        let word = AtomicU32::new(0);
        let bit = |n: u32| NonZeroU32::new(1 << n).unwrap();
        thread::scope(|scope| {
            let sleepers: std::vec::Vec<_> = (0..4)
                .map(|n| {
                    let word = &word;
                    scope.spawn(move || {
                        while word.load(Ordering::Acquire) & (1 << n) == 0 {
                            let seen = word.load(Ordering::Acquire);
                            if seen & (1 << n) == 0 {
                                wait(word, seen, bit(n));
                            }
                        }
                    })
                })
                .collect();
            for (n, sleeper) in sleepers.into_iter().enumerate() {
                word.fetch_or(1 << n, Ordering::Release);
                wake_all(&word, bit(n as u32));
                sleeper.join().unwrap();
            }
        });
    }
}
