//! The price of sleeping, and the rate of the tick counter.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};

use backoff::ticks::{self, Ticks};

use crate::environment::variable;

/// Assumed until it is said: as `unjank_backoff::calibrate` does.
const ASSUMED_PARK: u64 = 10_000;
/// What is believed: `Costs::believed` in `unjank_backoff::calibrate`.
const BELIEVED: std::ops::RangeInclusive<u64> = 1_000..=50_000;
/// How long the counter is compared with the clock, in nanoseconds.
const RATE_TAKES: u64 = 200_000;

/// In nanoseconds.
static PARK: AtomicU64 = AtomicU64::new(ASSUMED_PARK);
/// Counter and clock at the beginning.
static BEGIN: [AtomicU64; 2] = [AtomicU64::new(0), AtomicU64::new(0)];
static IS_RATE_KNOWN: AtomicBool = AtomicBool::new(false);

/// Reads what unjank has measured, and begins to learn the rate.
pub(crate) fn begin() {
    let said = variable(c"UNJANK_LOCK_PARK_NS").and_then(|said| said.to_str().ok());
    if let Some(nanos) = said.and_then(|said| said.parse::<u64>().ok()) {
        PARK.store(nanos.clamp(*BELIEVED.start(), *BELIEVED.end()), Relaxed);
    }
    let (ticks, nanos) = both_clocks();
    BEGIN[0].store(ticks.0, Relaxed);
    BEGIN[1].store(nanos, Relaxed);
}

/// What being put to sleep and woken costs.
pub(crate) fn park() -> Ticks {
    if !IS_RATE_KNOWN.load(Relaxed) {
        learn_rate();
    }
    Ticks::from_nanos(PARK.load(Relaxed))
}

#[cold]
fn learn_rate() {
    let [ticks, nanos] = [BEGIN[0].load(Relaxed), BEGIN[1].load(Relaxed)];
    let (ticks_now, nanos_now) = both_clocks();
    let took = nanos_now.saturating_sub(nanos);
    // Before the library's constructor, there is no beginning.
    if nanos > 0 && took >= RATE_TAKES {
        let passed = ticks_now - Ticks(ticks);
        let per_2_20_nanos = (u128::from(passed.0) << 20) / u128::from(took);
        ticks::set_rate(u32::try_from(per_2_20_nanos).unwrap_or(u32::MAX).max(1));
        IS_RATE_KNOWN.store(true, Relaxed);
    }
}

/// Counter and clock at one moment: the closest of a few pairs, because a thread may lose
/// its CPU between the two.
fn both_clocks() -> (Ticks, u64) {
    let pair = |_| {
        let ticks = Ticks::now();
        let nanos = clock();
        (ticks.elapsed(), (ticks, nanos))
    };
    let first = pair(0);
    (1..5).map(pair).fold(first, |best, next| if next.0 < best.0 { next } else { best }).1
}

/// The monotonic clock, in nanoseconds; no system call on most machines.
fn clock() -> u64 {
    let mut now = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: writes the time, which is there (clock_gettime(2)).
    unsafe { libc::clock_gettime(libc::CLOCK_MONOTONIC, &raw mut now) };
    now.tv_sec as u64 * 1_000_000_000 + now.tv_nsec as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_rate_of_the_counter_is_learned() {
        begin();
        while !IS_RATE_KNOWN.load(Relaxed) {
            park();
        }
        // The closest of several: the test may lose its CPU between two readings.
        let deviation = |_| {
            let (ticks, nanos) = both_clocks();
            while clock() < nanos + 2_000_000 {}
            let (ticks_now, nanos_now) = both_clocks();
            (ticks_now - ticks).as_nanos().abs_diff(nanos_now - nanos)
        };
        let closest = (0..20).map(deviation).min().unwrap();
        assert!(closest < 200_000, "{closest} ns of 2 ms");
        assert_eq!(park(), Ticks::from_nanos(ASSUMED_PARK));
    }
}
