//! The runs of an arm, and medians over them.

use super::arm::Arm;
use super::run::Measured;

/// All runs of an arm.
pub(super) type Runs = (Arm, Vec<Measured>);

/// Pages read from and written to storage.
pub(super) fn io(run: &Measured) -> f64 {
    (run.traffic.reads + run.traffic.writes + run.waited[1]) as f64
}

/// The median of a number over all runs.
pub(super) fn median(runs: &[Measured], of: impl Fn(&Measured) -> f64) -> Option<f64> {
    middle(runs.iter().map(of).collect())
}

/// The median; of two in the middle, the smaller one.
pub(super) fn middle(mut values: Vec<f64>) -> Option<f64> {
    values.sort_by(f64::total_cmp);
    values.get(values.len().checked_sub(1)? / 2).copied()
}
