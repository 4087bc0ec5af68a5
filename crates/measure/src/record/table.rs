//! Tables: results in rows and columns, as data.

use serde::{Deserialize, Serialize};

use crate::record::unit::Unit;

/// Results that are read side by side: policies, sizes, threads.
///
/// A table holds the main results of a run; the program that shows the record
/// decides how it is drawn.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Table {
    /// A path that begins with the delay: `lock/bench/throughput`.
    pub name: String,
    /// Its title, in plain words.
    pub title: String,
    /// The columns, in order.
    pub columns: Vec<Column>,
    /// The rows, each with one cell per column.
    pub rows: Vec<Vec<Cell>>,
    /// Notes for its reader, one sentence each.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub notes: Vec<String>,
}

/// A column of a table.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Column {
    /// Its heading.
    pub name: String,
    /// The unit of its numbers; `None` for text.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unit: Option<Unit>,
    /// The unit of the second numbers, if its cells have two.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub beside: Option<Unit>,
    /// The significant digits that tell its numbers apart, if three do not.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub digits: Option<u8>,
}

/// The content of one row and column.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Cell {
    /// A number, in the unit of its column.
    Number(Number),
    /// Text.
    Text(String),
    /// Empty.
    Empty,
}

/// A number in a table.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Number {
    /// The value, in `unit` or else in the unit of the column.
    pub value: f64,
    /// Its unit, if it is not that of the column.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unit: Option<Unit>,
    /// 95 % interval, if there is one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub interval: Option<[f64; 2]>,
    /// Standard deviation, if there is one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub deviation: Option<f64>,
    /// A second number, in the column's second unit.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub beside: Option<f64>,
    /// Its rank among the others.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mark: Option<Mark>,
}

/// The rank of a number among others.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Mark {
    /// Better than the number it is compared with, beyond its interval.
    Won,
    /// Worse than the number it is compared with, beyond its interval.
    Lost,
    /// The best of its row or column, as measured.
    Best,
}

impl Table {
    /// A table without rows.
    pub fn new(
        name: impl Into<String>,
        title: impl Into<String>,
        columns: impl IntoIterator<Item = Column>,
    ) -> Self {
        Self {
            name: name.into(),
            title: title.into(),
            columns: columns.into_iter().collect(),
            rows: Vec::new(),
            notes: Vec::new(),
        }
    }

    /// Adds a row. Missing cells at its end are empty.
    pub fn push(&mut self, cells: impl IntoIterator<Item = Cell>) {
        let mut row: Vec<Cell> = cells.into_iter().take(self.columns.len()).collect();
        row.resize(self.columns.len(), Cell::Empty);
        self.rows.push(row);
    }

    /// Adds rows.
    #[must_use]
    pub fn with_rows<Row: IntoIterator<Item = Cell>>(
        mut self,
        rows: impl IntoIterator<Item = Row>,
    ) -> Self {
        rows.into_iter().for_each(|row| self.push(row));
        self
    }

    /// Adds a note.
    #[must_use]
    pub fn with_note(mut self, note: impl Into<String>) -> Self {
        self.notes.push(note.into());
        self
    }

    /// Empties cells whose numbers are not finite, and counts them.
    pub(crate) fn drop_non_finite(&mut self) -> usize {
        let broken = self.rows.iter_mut().flatten().filter(|cell| match cell {
            Cell::Number(number) => !number.is_finite(),
            Cell::Text(_) | Cell::Empty => false,
        });
        broken.map(|cell| *cell = Cell::Empty).count()
    }
}

impl Column {
    /// A column of text.
    pub fn text(name: impl Into<String>) -> Self {
        Self { name: name.into(), unit: None, beside: None, digits: None }
    }

    /// A column of numbers.
    pub fn of(name: impl Into<String>, unit: Unit) -> Self {
        Self { unit: Some(unit), ..Self::text(name) }
    }

    /// Adds a second number to each cell.
    #[must_use]
    pub fn beside(mut self, unit: Unit) -> Self {
        self.beside = Some(unit);
        self
    }

    /// Sets the number of significant digits.
    #[must_use]
    pub fn with_digits(mut self, digits: u8) -> Self {
        self.digits = Some(digits);
        self
    }
}

impl Cell {
    /// A number by itself.
    pub fn number(value: f64) -> Self {
        Number::new(value).into()
    }

    /// A number, or nothing.
    pub fn maybe(value: Option<impl Into<Self>>) -> Self {
        value.map_or(Self::Empty, Into::into)
    }
}

impl Number {
    /// A number by itself.
    pub fn new(value: f64) -> Self {
        Self { value, unit: None, interval: None, deviation: None, beside: None, mark: None }
    }

    /// Sets a unit other than the column's.
    #[must_use]
    pub fn of(mut self, unit: Unit) -> Self {
        self.unit = Some(unit);
        self
    }

    /// Sets its 95 % interval, if there is one.
    #[must_use]
    pub fn within(mut self, interval: Option<[f64; 2]>) -> Self {
        self.interval = interval;
        self
    }

    /// Adds a second number.
    #[must_use]
    pub fn beside(mut self, second: f64) -> Self {
        self.beside = Some(second);
        self
    }

    /// Sets its rank among the others.
    #[must_use]
    pub fn marked(mut self, mark: Option<Mark>) -> Self {
        self.mark = mark;
        self
    }

    fn is_finite(&self) -> bool {
        let interval = self.interval.iter().flatten();
        let all = interval.chain(&self.deviation).chain(&self.beside).chain([&self.value]);
        all.copied().all(f64::is_finite)
    }
}

impl From<Number> for Cell {
    fn from(number: Number) -> Self {
        Self::Number(number)
    }
}

impl From<f64> for Cell {
    fn from(value: f64) -> Self {
        Self::number(value)
    }
}

impl From<String> for Cell {
    fn from(text: String) -> Self {
        if text.is_empty() { Self::Empty } else { Self::Text(text) }
    }
}

impl From<&str> for Cell {
    fn from(text: &str) -> Self {
        text.to_owned().into()
    }
}

impl Mark {
    /// Its sign: `+`, `−` or `*`.
    pub fn sign(self) -> char {
        match self {
            Self::Won => '+',
            Self::Lost => '−',
            Self::Best => '*',
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cells_are_null_text_or_numbers() {
        let columns = [Column::text("lock"), Column::of("rate", Unit::PerSecond)];
        let number = Number::new(2.5).within(Some([2.0, 3.0])).marked(Some(Mark::Won));
        let table = Table::new("lock/bench", "Rates", columns)
            .with_rows([vec!["park".into(), number.into()], vec!["spin".into()]])
            .with_note("+ won.");
        let json = serde_json::to_value(&table).unwrap();
        assert_eq!(
            json["rows"],
            serde_json::json!([
                ["park", {"value": 2.5, "interval": [2.0, 3.0], "mark": "won"}],
                ["spin", null]
            ])
        );
        assert_eq!(json["columns"][1], serde_json::json!({"name": "rate", "unit": "per_second"}));
        assert_eq!(serde_json::from_value::<Table>(json).unwrap(), table);
    }

    #[test]
    fn values_that_are_not_finite_leave_empty_cells() {
        let mut table = Table::new("t", "", [Column::of("x", Unit::Count)]).with_rows([
            vec![Cell::number(f64::NAN)],
            vec![Number::new(1.0).within(Some([0.0, f64::INFINITY])).into()],
            vec![Cell::number(1.0)],
        ]);
        assert_eq!(table.drop_non_finite(), 2);
        assert_eq!(table.rows, [[Cell::Empty], [Cell::Empty], [Cell::number(1.0)]]);
    }
}
