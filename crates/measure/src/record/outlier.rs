//! The worst samples of a series.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

/// One of the worst samples, with its time and its cause.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Outlier {
    /// The name of its series.
    pub series: String,
    /// The labels that identify its series among those of that name.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub labels: BTreeMap<String, String>,
    /// Its time, in nanoseconds since the series began.
    pub at: u64,
    /// The sample, in the unit of the series.
    pub value: u64,
    /// The CPU on which it occurred.
    pub cpu: Option<usize>,
    /// The observed cause: `preempted by kworker/0:1 for 212 µs`; `null` if
    /// none was recorded.
    pub cause: Option<String>,
}
