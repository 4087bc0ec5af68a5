//! Calibration of the costs of waiting, and `unjank_pause`.

use backoff::{calibrate, hint};

/// The costs of waiting on this machine, in nanoseconds.
#[repr(C)]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct unjank_costs {
    /// One `unjank_pause`.
    pub pause_ns: u64,
    /// One `sched_yield(2)` with nobody to yield to.
    pub yield_ns: u64,
    /// From a wake-up call until the parked thread runs on another CPU; between
    /// 1 and 50 us.
    pub park_ns: u64,
}

impl From<calibrate::Costs> for unjank_costs {
    fn from(costs: calibrate::Costs) -> Self {
        Self {
            pause_ns: costs.pause.as_nanos(),
            yield_ns: costs.yield_now.as_nanos(),
            park_ns: costs.park.as_nanos(),
        }
    }
}

/// Measures the costs of waiting when it is first called in a process, in two
/// milliseconds and with two threads. All waits use them from then on; until then
/// they assume that parking takes 10 us. `unjank_pool_new` does the same.
///
/// From then on, a mutex without waiters is released with a store. The kernel's
/// registration for that takes up to 20 ms more in a process with other threads.
#[unsafe(no_mangle)]
pub extern "C" fn unjank_calibrate() -> unjank_costs {
    calibrate::calibrate().into()
}

/// Waits for a moment and leaves resources to the other hardware thread of the
/// core.
#[unsafe(no_mangle)]
pub extern "C" fn unjank_pause() {
    hint::pause();
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn calibrating_returns_the_costs_that_all_waits_use() {
        unjank_pause();
        let costs = unjank_calibrate();
        assert!((999..=50_000).contains(&costs.park_ns), "{costs:?}");
        assert_eq!(costs, calibrate::known().into());
    }
}
