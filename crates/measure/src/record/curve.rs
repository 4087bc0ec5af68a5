//! Values over something.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::record::unit::Unit;

/// A quantity as it depends on another one.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Curve {
    /// A path, delay first: `launch/ramp/speed`.
    pub name: String,
    /// What lies on the horizontal axis.
    pub x: Axis,
    /// What lies on the vertical axis.
    pub y: Axis,
    /// What else tells this curve from its siblings: `cpu` …
    #[serde(default)]
    pub labels: BTreeMap<String, String>,
    /// The points, by ascending `x`.
    pub points: Vec<Point>,
}

/// One axis of a curve.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Axis {
    /// What it shows, in plain words: `time since wake`.
    pub name: String,
    /// Its unit.
    pub unit: Unit,
}

impl Axis {
    /// An axis.
    pub fn new(name: &str, unit: Unit) -> Self {
        Self { name: name.to_owned(), unit }
    }
}

/// One point of a curve.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Point {
    /// Where on the horizontal axis.
    pub x: f64,
    /// The value there.
    pub y: f64,
    /// 95 % interval of the value, where there is one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub interval: Option<[f64; 2]>,
}
