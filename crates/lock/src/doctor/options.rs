//! Options of `lock doctor`.

use unjank_host::{Error, Nanos, Result};

/// Options of `lock doctor`.
#[derive(Debug, Clone, Copy)]
pub struct Options {
    /// The process number (PID).
    pub process: u32,
    /// Whether the processes that it has started are watched as well.
    pub tree: bool,
    /// Length of the watch.
    pub duration: Nanos,
    /// Number of threads with facts in the record, the worst first.
    pub top: usize,
}

impl Options {
    /// The shortest watch: four windows of a trace.
    pub const SHORTEST: Nanos = Nanos::from_millis(500);

    /// # Errors
    /// `Invalid`: too short a watch.
    pub(crate) fn check(&self) -> Result<()> {
        if self.duration < Self::SHORTEST {
            let (asked, least) = (self.duration, Self::SHORTEST);
            return Err(Error::Invalid(format!(
                "a watch of {asked} is too short; watch for at least {least}"
            )));
        }
        Ok(())
    }
}
