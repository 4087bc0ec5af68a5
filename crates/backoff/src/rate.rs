//! Measures the rate of the tick counter.

use core::time::Duration;
use std::hint;
use std::sync::OnceLock;
use std::time::Instant;

use crate::ticks::{self, Ticks};

/// How long the counter is compared with the clock.
const RATE_TAKES: Duration = Duration::from_micros(200);

/// Measures the rate of the counter against the system's clock. The first call only
/// reads both. A call at least 200 µs later sets the rate; if it `must`, a call
/// waits until then.
#[cold]
pub(crate) fn learn_rate(must: bool) {
    static BEGIN: OnceLock<(Ticks, Instant)> = OnceLock::new();
    if cfg!(any(loom, miri)) || ticks::is_rate_known() {
        return;
    }
    let &(begin, clock) = BEGIN.get_or_init(both_clocks);
    while must && clock.elapsed() < RATE_TAKES {
        hint::spin_loop();
    }
    if clock.elapsed() >= RATE_TAKES {
        let (end, clock_end) = both_clocks();
        let nanos = (clock_end - clock).as_nanos().max(1);
        let per_2_20_nanos = (u128::from((end - begin).0) << 20) / nanos;
        ticks::set_rate(u32::try_from(per_2_20_nanos).unwrap_or(u32::MAX).max(1));
    }
}

/// Counter and clock at one moment: the closest of a few pairs, because the first
/// reading of a clock may cause a page fault.
fn both_clocks() -> (Ticks, Instant) {
    let pair = |_| {
        let ticks = Ticks::now();
        let clock = Instant::now();
        (ticks.elapsed(), (ticks, clock))
    };
    let first = pair(0);
    (1..5).map(pair).fold(first, |best, next| if next.0 < best.0 { next } else { best }).1
}
