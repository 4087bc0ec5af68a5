//! Single numbers, and changes to the machine.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::record::direction::Direction;
use crate::record::unit::Unit;

/// A single number with its unit and, if there is one, its interval.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Fact {
    /// A path that begins with the delay: `lock/break_even`.
    pub name: String,
    /// In `unit`.
    pub value: f64,
    /// The unit of `value` and `interval`.
    pub unit: Unit,
    /// 95 % interval, if there is one.
    pub interval: Option<[f64; 2]>,
    /// The number of samples, if that is a number.
    pub n: Option<u64>,
    /// The direction of improvement, if it is not that of the unit.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub better: Option<Direction>,
    /// Labels that tell it from facts of the same name.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub labels: BTreeMap<String, String>,
    /// How the values of several starts are pooled; not part of a record.
    #[serde(default, skip_serializing_if = "Pooling::is_median")]
    pub pooling: Pooling,
}

/// How the values of several independent starts become one.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Pooling {
    /// The median, for values that each start measures by itself.
    #[default]
    Median,
    /// The sum, also of `n`, for counts.
    Sum,
    /// The mean, weighted by `n`, for shares of `n`.
    Mean,
}

impl Pooling {
    #[expect(clippy::trivially_copy_pass_by_ref, reason = "serde calls it with a reference")]
    fn is_median(&self) -> bool {
        *self == Self::Median
    }
}

impl Fact {
    /// A number without an interval.
    pub fn new(name: impl Into<String>, value: f64, unit: Unit) -> Self {
        Self {
            name: name.into(),
            value,
            unit,
            interval: None,
            n: None,
            better: None,
            labels: BTreeMap::new(),
            pooling: Pooling::default(),
        }
    }

    /// Marks it as a count: the values of several starts are added.
    #[must_use]
    pub fn summed(mut self) -> Self {
        self.pooling = Pooling::Sum;
        self
    }

    /// Marks it as a share of `n`: the values of several starts are weighted by
    /// `n`.
    #[must_use]
    pub fn averaged(mut self) -> Self {
        self.pooling = Pooling::Mean;
        self
    }

    /// Adds a 95 % interval from `n` samples.
    #[must_use]
    pub fn with_interval(mut self, interval: [f64; 2], n: u64) -> Self {
        (self.interval, self.n) = (Some(interval), Some(n));
        self
    }

    /// Sets the direction of improvement.
    #[must_use]
    pub fn with_better(mut self, better: Direction) -> Self {
        self.better = Some(better);
        self
    }

    /// The direction of improvement, if it is known.
    pub fn better(&self) -> Option<Direction> {
        self.better.or_else(|| self.unit.better())
    }

    /// Adds a label.
    #[must_use]
    pub fn with_label(mut self, name: &str, value: impl Into<String>) -> Self {
        self.labels.insert(name.to_owned(), value.into());
        self
    }
}

/// A change to the machine for the time of a run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Change {
    /// The knob: a file, or a property of a thread.
    pub knob: String,
    /// Its value before the run.
    pub before: String,
    /// Its value during the run.
    pub during: String,
    /// Its value after the run; `null` if it could not be read back.
    pub after: Option<String>,
}
