//! Progress out of a probe, and the wish to stop into it.

/// What a probe tells its caller while it runs, and asks it. Called between
/// measurements, never inside a timed path.
pub trait Monitor: Sync {
    /// `fraction` (0–1) of the work is done; `doing` names what comes next.
    fn progress(&self, fraction: f64, doing: &str);

    /// Whether to stop soon and return what is known so far (Ctrl-C).
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
