//! The progress of one experiment among two.

use unjank_measure::Monitor;

/// A part of a whole.
pub(super) struct Share<'a> {
    pub(super) whole: &'a dyn Monitor,
    /// Where in the whole it begins.
    pub(super) from: f64,
    /// How much of it it is.
    pub(super) length: f64,
    pub(super) name: &'a str,
}

impl Monitor for Share<'_> {
    fn progress(&self, fraction: f64, doing: &str) {
        self.whole.progress(self.from + fraction * self.length, &format!("{}: {doing}", self.name));
    }

    fn stop_requested(&self) -> bool {
        self.whole.stop_requested()
    }
}
