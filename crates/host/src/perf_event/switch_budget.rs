//! How many stacks of switches a CPU may have before the kernel leaves some out. Pure.

use unjank_units::Nanos;

/// What is copied of a stack, after which frame pointers lead on. A multiple of
/// eight.
pub(super) const STACK: u32 = 4096;
/// The most switches of a thread on one CPU that are recorded in a second, about, once
/// the CPU has had [too many](is_too_much): each takes 4 µs. The kernel skips some. It
/// raises the period after two switches within a 4,000th of a second, and lowers it only
/// at clock ticks in which the thread runs, or at samples that are less than two ticks
/// apart (`perf_adjust_period` in `kernel/events/core.c`). So before that, every switch
/// is recorded.
pub(super) const MOST_SWITCHES: u64 = 4_000;
/// What 4,000 records of switches take, about, and how much more a CPU may have at once.
const MOST_PER_SECOND: u64 = MOST_SWITCHES * (STACK as u64 + 256);
const BURST: u64 = 4 << 20;

/// Whether a CPU had so many bytes of records in this time that recording every switch delays the
/// program.
pub(super) fn is_too_much(bytes: u64, time: Nanos) -> bool {
    let most = u128::from(MOST_PER_SECOND) * u128::from(time.get()) / 1_000_000_000;
    u128::from(bytes) > u128::from(BURST) + most
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_burst_or_a_steady_rate_is_not_too_much() {
        let second = Nanos(1_000_000_000);
        assert!(!is_too_much(BURST, Nanos::ZERO));
        assert!(is_too_much(BURST + 1, Nanos::ZERO));
        assert!(!is_too_much(MOST_PER_SECOND, second));
        assert!(is_too_much(2 * MOST_PER_SECOND + BURST, second));
        assert!(is_too_much(u64::MAX, Nanos(u64::MAX)));
    }
}
