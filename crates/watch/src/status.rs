//! The state of the service.

use serde::{Deserialize, Serialize};
use unjank_host::{Bytes, Nanos};

/// The state of the service at a moment.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Status {
    /// `unjank.watch/1`.
    pub schema: String,
    /// The number of the service's process.
    pub process: u32,
    /// Time since it began.
    pub up: Nanos,
    /// Whether nothing is recorded on request.
    pub paused: bool,
    /// The memory of the kernel's buffers.
    pub buffers: Bytes,
    /// The time since the recording that goes on began; older events may be overwritten.
    pub recorded: Nanos,
    /// Threads that are watched by a rule.
    pub watched: u64,
    /// Incidents that were explained since the service began.
    pub incidents: u64,
    /// Triggers at which no thread had been held up for long.
    pub nothing_found: u64,
    /// Triggers that the budget left out.
    pub left_out: u64,
    /// The last incident, in a sentence.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last: Option<String>,
    /// What came of a mark; only in the answer to one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mark: Option<MarkOutcome>,
    /// Triggers that this machine does not have, with the reason.
    pub missing: Vec<String>,
    /// CPU time of the service, without that of recording, which other threads pay.
    pub cpu_time: Nanos,
    /// Memory of the service, without the kernel's buffers.
    pub resident: Bytes,
}

/// What came of a mark.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum MarkOutcome {
    /// An incident was explained.
    Explained {
        /// Its id.
        id: String,
        /// The store that keeps it.
        store: String,
        /// It in a sentence.
        sentence: String,
    },
    /// An incident was explained shortly before, and nothing is known of the time since.
    Before {
        /// Its id.
        id: String,
        /// The store that keeps it.
        store: String,
        /// It in a sentence.
        sentence: String,
    },
    /// No thread had been held up for long.
    NothingFound,
    /// Too soon after another trigger, or too many within an hour.
    LeftOut,
    /// The service is paused.
    Paused,
    /// It could not be explained; the log of the service has the reason.
    Failed,
}

impl Status {
    /// The name and version of its form.
    pub const SCHEMA: &str = "unjank.watch/1";
}
