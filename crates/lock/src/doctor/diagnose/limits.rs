//! From what on a thread is judged.

use super::super::seen::Seen;

/// A busy thread has its CPU for this share of the time, or would have it.
const BUSY: f64 = 0.9;
/// Which part of its CPU time a spinning thread spends outside the kernel.
const OUTSIDE: f64 = 0.9;
/// So many samples say where a thread is.
pub(super) const SAMPLES: u64 = 50;
/// Less than this share of a CPU is no waste of CPU time.
pub(super) const WASTE: f64 = 0.01;

/// Whether it has a CPU, or waits to have one, and calls the kernel hardly.
pub(super) fn is_busy(seen: &Seen) -> bool {
    let wants = seen.cpu_share() + seen.ready_share().unwrap_or(0.0);
    wants >= BUSY && seen.user_part().is_some_and(|user| user >= OUTSIDE)
}
