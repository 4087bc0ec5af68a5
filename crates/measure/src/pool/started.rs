//! What one start of a measurement found.

use unjank_host::Timestamp;

use crate::findings::Findings;

/// What one start found.
#[derive(Debug, Clone, PartialEq)]
pub struct Started {
    /// When it began.
    pub at: Timestamp,
    /// What it found.
    pub findings: Findings,
}
