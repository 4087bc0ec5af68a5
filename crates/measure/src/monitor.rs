//! Progress reports from a probe, and stop requests to it.

/// The connection between a probe and its caller while the probe runs. Called
/// between measurements, never inside a timed path.
pub trait Monitor: Sync {
    /// Reports that `fraction` (0–1) of the work is done; `doing` names the
    /// next step.
    fn progress(&self, fraction: f64, doing: &str);

    /// Whether to stop soon and return the findings so far (Ctrl-C).
    fn stop_requested(&self) -> bool;
}

/// One part of a longer run: its progress within that of the whole.
pub struct Part<'a> {
    whole: &'a dyn Monitor,
    name: &'a str,
    from: f64,
    length: f64,
}

impl<'a> Part<'a> {
    /// The part that begins at the fraction `from` of the whole and has this length, both
    /// 0–1. Without a `name`, only its own steps are named.
    pub fn new(whole: &'a dyn Monitor, name: &'a str, from: f64, length: f64) -> Self {
        Self { whole, name, from, length }
    }

    /// Part `number`, from 0, of so many equal `parts`.
    pub fn of_equal(whole: &'a dyn Monitor, name: &'a str, number: usize, parts: usize) -> Self {
        let length = 1.0 / parts.max(1) as f64;
        Self::new(whole, name, number as f64 * length, length)
    }
}

impl Monitor for Part<'_> {
    fn progress(&self, fraction: f64, doing: &str) {
        let fraction = self.from + self.length * fraction.clamp(0.0, 1.0);
        let text = match (self.name, doing) {
            ("", doing) => doing.to_owned(),
            (name, "") => name.to_owned(),
            (name, doing) => format!("{name}: {doing}"),
        };
        self.whole.progress(fraction, &text);
    }

    fn stop_requested(&self) -> bool {
        self.whole.stop_requested()
    }
}

/// Shows nothing and never stops.
#[derive(Debug, Clone, Copy, Default)]
pub struct Silent;

impl Monitor for Silent {
    fn progress(&self, _fraction: f64, _doing: &str) {}

    fn stop_requested(&self) -> bool {
        false
    }
}
