//! One probe's part of the progress of the whole.

use unjank_measure::Monitor;

/// Maps a probe's progress from 0 to 1 to its part of the whole.
pub(super) struct Part<'a> {
    whole: &'a dyn Monitor,
    name: &'static str,
    from: f64,
    share: f64,
}

impl<'a> Part<'a> {
    pub(super) fn new(whole: &'a dyn Monitor, name: &'static str, from: f64, share: f64) -> Self {
        Self { whole, name, from, share }
    }
}

impl Monitor for Part<'_> {
    fn progress(&self, fraction: f64, doing: &str) {
        let fraction = self.from + self.share * fraction.clamp(0.0, 1.0);
        self.whole.progress(fraction, &format!("{}: {doing}", self.name));
    }

    fn stop_requested(&self) -> bool {
        self.whole.stop_requested()
    }
}
