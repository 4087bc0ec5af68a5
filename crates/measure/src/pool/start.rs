//! The findings of one start of a measurement.

use unjank_host::Timestamp;

use crate::findings::Findings;

/// The findings of one start.
#[derive(Debug, Clone, PartialEq)]
pub struct StartFindings {
    /// Start time.
    pub at: Timestamp,
    /// The series, facts and verdicts of this start.
    pub findings: Findings,
}
