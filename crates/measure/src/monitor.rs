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

/// Shows nothing and never stops.
#[derive(Debug, Clone, Copy, Default)]
pub struct Silent;

impl Monitor for Silent {
    fn progress(&self, _fraction: f64, _doing: &str) {}

    fn stop_requested(&self) -> bool {
        false
    }
}
