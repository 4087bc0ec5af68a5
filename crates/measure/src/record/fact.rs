//! Single numbers, and what was changed on the machine.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::record::direction::Direction;
use crate::record::unit::Unit;

/// A single number.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Fact {
    /// A path, delay first: `lock/break_even`.
    pub name: String,
    /// The value.
    pub value: f64,
    /// Its unit.
    pub unit: Unit,
    /// 95 % interval, where there is one.
    pub interval: Option<[f64; 2]>,
    /// How many samples stand behind it, where that is a number.
    pub n: Option<u64>,
    /// Which way it gets better, where the unit does not say.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub better: Option<Direction>,
    /// What else tells this fact from its siblings.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub labels: BTreeMap<String, String>,
    /// How those of several starts become one; not part of a record.
    #[serde(default, skip_serializing_if = "Pooling::is_median")]
    pub pooling: Pooling,
}

/// How the facts of several independent starts become one.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Pooling {
    /// Their median: what each start measured by itself.
    #[default]
    Median,
    /// Their sum, and that of `n`: what was counted.
    Sum,
    /// Their mean, weighted by `n`: a share of `n`.
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

    /// A count: those of several starts add up.
    #[must_use]
    pub fn summed(mut self) -> Self {
        self.pooling = Pooling::Sum;
        self
    }

    /// A share of `n`: those of several starts are weighted by it.
    #[must_use]
    pub fn averaged(mut self) -> Self {
        self.pooling = Pooling::Mean;
        self
    }

    /// With a 95 % interval from `n` samples.
    #[must_use]
    pub fn with_interval(mut self, interval: [f64; 2], n: u64) -> Self {
        (self.interval, self.n) = (Some(interval), Some(n));
        self
    }

    /// With the direction in which it gets better.
    #[must_use]
    pub fn with_better(mut self, better: Direction) -> Self {
        self.better = Some(better);
        self
    }

    /// Which way it gets better, where that is known.
    pub fn better(&self) -> Option<Direction> {
        self.better.or_else(|| self.unit.better())
    }

    /// With a label.
    #[must_use]
    pub fn with_label(mut self, name: &str, value: impl Into<String>) -> Self {
        self.labels.insert(name.to_owned(), value.into());
        self
    }
}

/// Something on the machine that a run changed for its time.
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
