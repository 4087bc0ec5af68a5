//! The progress of one scheduling policy within a run of several.

use unjank_measure::Monitor;

use super::options::Scheduling;

/// The part of one scheduling in the progress of the whole run.
pub(crate) struct Stage<'a> {
    pub(super) monitor: &'a dyn Monitor,
    pub(super) index: usize,
    pub(super) of: usize,
}

impl Stage<'_> {
    pub(super) fn progress(&self, fraction: f64, scheduling: Scheduling) {
        let done = (self.index as f64 + fraction.clamp(0.0, 1.0)) / self.of as f64;
        self.monitor.progress(done, &format!("wake-ups as {}", scheduling.name()));
    }
}
