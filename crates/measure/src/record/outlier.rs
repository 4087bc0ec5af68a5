//! The worst samples of a series.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

/// One of the worst samples: when it happened and what caused it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Outlier {
    /// The name of its series.
    pub series: String,
    /// Labels of its series, as many as tell it from others of that name.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub labels: BTreeMap<String, String>,
    /// When, in nanoseconds since the series began.
    pub at: u64,
    /// The sample, in the unit of the series.
    pub value: u64,
    /// Where it happened.
    pub cpu: Option<usize>,
    /// What was seen to cause it: `preempted by kworker/0:1 for 212 µs`;
    /// `null` where nothing was recorded.
    pub cause: Option<String>,
}
