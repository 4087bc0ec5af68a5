//! The run record itself.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use unjank_host::Machine;

use crate::findings::Findings;

/// The name and major version of the record's schema.
pub const SCHEMA: &str = "unjank.run/2";
/// One run of one command.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct RunRecord {
    /// Always [`SCHEMA`].
    pub schema: String,
    /// Unique and sortable: start time and a random tail,
    /// `20261121T101530-5f3a9c`.
    pub id: String,
    /// The program that made the record.
    pub tool: Tool,
    /// The command without its options: `jitter native`.
    pub command: String,
    /// Start, RFC 3339 in UTC.
    pub started_at: String,
    /// Length of the run in nanoseconds.
    pub elapsed: u64,
    /// The machine it ran on.
    pub host: Machine,
    /// Every option with its value, including defaults and the seed.
    pub settings: BTreeMap<String, serde_json::Value>,
    /// The results of the measurement.
    #[serde(flatten)]
    pub findings: Findings,
    /// How to read the numbers: `interrupted`, `modelled`, `emulated` …
    #[serde(default)]
    pub labels: Vec<String>,
}

/// The program that made a record.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Tool {
    /// Its version: `0.1.0`.
    pub version: String,
    /// The commit it was built from, if known.
    pub commit: Option<String>,
}

impl RunRecord {
    /// The record as indented JSON.
    pub fn to_json(&self) -> String {
        serde_json::to_string_pretty(self).expect("a record has only string keys")
    }
}
