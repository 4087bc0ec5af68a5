//! The progress of one experiment of two.

use unjank_measure::Monitor;

/// The progress of a part.
pub(super) struct PartialProgress<'a> {
    pub(super) whole: &'a dyn Monitor,
    /// Its beginning within the whole, from 0 to 1.
    pub(super) from: f64,
    /// Its share of the whole.
    pub(super) length: f64,
    pub(super) name: &'a str,
}

impl Monitor for PartialProgress<'_> {
    fn progress(&self, fraction: f64, doing: &str) {
        self.whole.progress(self.from + fraction * self.length, &format!("{}: {doing}", self.name));
    }

    fn stop_requested(&self) -> bool {
        self.whole.stop_requested()
    }
}
