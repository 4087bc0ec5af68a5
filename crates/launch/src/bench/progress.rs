//! The progress of one plan among several.

use unjank_measure::Monitor;

/// One of several parts of equal length.
pub(super) struct PartialProgress<'a> {
    whole: &'a dyn Monitor,
    number: usize,
    parts: usize,
    name: &'a str,
}

impl<'a> PartialProgress<'a> {
    pub(super) fn new(whole: &'a dyn Monitor, number: usize, parts: usize, name: &'a str) -> Self {
        Self { whole, number, parts, name }
    }
}

impl Monitor for PartialProgress<'_> {
    fn progress(&self, fraction: f64, doing: &str) {
        let fraction = (self.number as f64 + fraction) / self.parts.max(1) as f64;
        let name = if self.name.is_empty() { String::new() } else { format!("{}, ", self.name) };
        self.whole.progress(fraction, &format!("{name}{doing}"));
    }

    fn stop_requested(&self) -> bool {
        self.whole.stop_requested()
    }
}
