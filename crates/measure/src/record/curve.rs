//! Curves, and rows of heat maps.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::record::direction::Direction;
use crate::record::unit::Unit;

/// The label that holds the name of the label that names the rows of a heat
/// map.
const MAP: &str = "map";

/// The label of the direction of improvement, and its values.
const BETTER: &str = "better";
const SMALLER: &str = "smaller";
const LARGER: &str = "larger";

/// A quantity as a function of another one.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Curve {
    /// A path that begins with the delay: `launch/ramp/speed`.
    pub name: String,
    /// The horizontal axis.
    pub x: Axis,
    /// The vertical axis.
    pub y: Axis,
    /// Labels that tell it from curves of the same name: `cpu` …
    #[serde(default)]
    pub labels: BTreeMap<String, String>,
    /// The points, by ascending `x`.
    pub points: Vec<Point>,
}

impl Curve {
    /// Makes it a row of a heat map instead of a line of a chart. Rows of one
    /// map differ only in the label `rows` (`policy`, `strategy`), which names
    /// them; the values of `x` are the columns.
    #[must_use]
    pub fn in_map(mut self, rows: &str, better: Option<Direction>) -> Self {
        self.labels.insert(MAP.to_owned(), rows.to_owned());
        if let Some(better) = better {
            let word = match better {
                Direction::Smaller => SMALLER,
                Direction::Larger => LARGER,
            };
            self.labels.insert(BETTER.to_owned(), word.to_owned());
        }
        self
    }

    /// The label that names the rows of its heat map, and its value here;
    /// `None` if it is a line of a chart.
    pub fn row(&self) -> Option<(&str, &str)> {
        let rows = self.labels.get(MAP)?;
        Some((rows, self.labels.get(rows)?))
    }

    /// The labels that all rows of its heat map share.
    pub fn map_labels(&self) -> BTreeMap<String, String> {
        let mut labels = self.labels.clone();
        let rows = labels.remove(MAP);
        labels.remove(BETTER);
        if let Some(rows) = rows {
            labels.remove(&rows);
        }
        labels
    }

    /// The direction of improvement, if it is known.
    pub fn better(&self) -> Option<Direction> {
        match self.labels.get(BETTER).map(String::as_str) {
            Some(SMALLER) => Some(Direction::Smaller),
            Some(LARGER) => Some(Direction::Larger),
            _ => self.y.unit.better(),
        }
    }
}

/// One axis of a curve.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Axis {
    /// The quantity on it, in plain words: `time since wake`.
    pub name: String,
    /// The unit of the points' positions on it.
    pub unit: Unit,
}

impl Axis {
    /// An axis for the quantity `name`, in `unit`.
    pub fn new(name: &str, unit: Unit) -> Self {
        Self { name: name.to_owned(), unit }
    }
}

/// One point of a curve.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Point {
    /// The position on the horizontal axis.
    pub x: f64,
    /// The value there, in the unit of the vertical axis.
    pub y: f64,
    /// 95 % interval of the value, if there is one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub interval: Option<[f64; 2]>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_row_of_a_map_knows_its_label_and_its_direction() {
        let line = Curve {
            name: "lock/throughput".to_owned(),
            x: Axis::new("threads", Unit::Count),
            y: Axis::new("share of the best", Unit::Ratio),
            labels: [("strategy", "park"), ("held", "1 µs")]
                .map(|(name, value)| (name.to_owned(), value.to_owned()))
                .into(),
            points: Vec::new(),
        };
        assert_eq!((line.row(), line.better()), (None, None));
        let row = line.in_map("strategy", Some(Direction::Larger));
        assert_eq!(row.row(), Some(("strategy", "park")));
        assert_eq!(row.better(), Some(Direction::Larger));
        assert_eq!(row.map_labels(), [("held".to_owned(), "1 µs".to_owned())].into());
        let without = Curve { labels: [("map".to_owned(), "x".to_owned())].into(), ..row };
        assert_eq!(without.row(), None, "no label names the row");
    }
}
