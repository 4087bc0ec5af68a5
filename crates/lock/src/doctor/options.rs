//! What to watch.

use unjank_host::{Error, Nanos, Result};

/// What `lock doctor` watches.
#[derive(Debug, Clone, Copy)]
pub struct Options {
    /// The process.
    pub process: u32,
    /// Whether the processes that it has started are watched as well.
    pub tree: bool,
    /// For how long.
    pub duration: Nanos,
    /// Of so many threads the record has facts, the worst ones.
    pub top: usize,
}

impl Options {
    /// The shortest watch: four windows of a trace.
    pub const SHORTEST: Nanos = Nanos::from_millis(500);

    /// # Errors
    /// `Invalid`: too short a watch to tell anything.
    pub(crate) fn check(&self) -> Result<()> {
        if self.duration < Self::SHORTEST {
            let (asked, least) = (self.duration, Self::SHORTEST);
            return Err(Error::Invalid(format!(
                "{asked} are too short to tell anything: {least} at least"
            )));
        }
        Ok(())
    }
}
