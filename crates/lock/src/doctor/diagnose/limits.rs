//! Limits of the diagnoses.

use unjank_host::Nanos;

use super::super::observed::ObservedThread;

/// The share of the time for which a busy thread has a CPU or waits for one.
const BUSY: f64 = 0.9;
/// The share of its CPU time that a spinning thread spends outside the kernel.
const OUTSIDE: f64 = 0.9;
/// Yields, empty polls or vain wake-ups a second that are a storm: one each
/// millisecond.
pub(super) const STORM: f64 = 1_000.0;
/// A thread that only checks a condition computes for no longer than this.
pub(super) const LOOK: Nanos = Nanos::from_micros(100);
/// The least number of samples that show where a thread is.
pub(super) const SAMPLES: u64 = 50;
/// The least share of a CPU that counts as waste.
pub(super) const WASTE: f64 = 0.01;

/// Whether it runs or wants to run nearly all the time, and hardly in the kernel.
pub(super) fn is_busy(seen: &ObservedThread) -> bool {
    let wants = seen.cpu_share() + seen.ready_share().unwrap_or(0.0);
    wants >= BUSY && seen.user_part().is_some_and(|user| user >= OUTSIDE)
}
