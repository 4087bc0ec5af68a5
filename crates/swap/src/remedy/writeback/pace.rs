//! How fast pages are written back while programs wait for I/O: pure.
//!
//! A program that waits for a page in zram counts as one that waits for I/O, so a machine that
//! thrashes in zram never seems to be without such waits. That is when zram needs room: pages are
//! written back more slowly then, but not never.

use unjank_host::machine::pressure::Pressure;

/// The least share of the time for writing.
pub const SLOWEST: f64 = 0.1;

/// The share of the time for writing at this pressure: less than in proportion to the time in which
/// at least one task makes progress.
pub fn share_at(pressure: &Pressure) -> f64 {
    let progress = 1.0 - pressure.io.full_avg10 / 100.0;
    (progress * progress).clamp(SLOWEST, 1.0)
}

#[cfg(test)]
mod tests {
    use unjank_host::machine::pressure::Stall;

    use super::*;

    #[test]
    fn programs_that_wait_for_io_come_first_but_not_alone() {
        let at = |full_avg10| {
            let io = Stall { full_avg10, some_avg10: 100.0, ..Stall::default() };
            share_at(&Pressure { io, ..Pressure::default() })
        };
        for (waiting, share) in [(0.0, 1.0), (10.0, 0.81), (50.0, 0.25), (100.0, SLOWEST)] {
            assert!((at(waiting) - share).abs() < 1e-9, "{waiting}");
        }
    }
}
