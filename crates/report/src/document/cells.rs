//! Cells of a record's tables.

use unjank_measure::{Cell, RunRecord, Table};

/// The rows of a table; none if the record has no such table.
pub(super) fn rows<'a>(record: &'a RunRecord, table: &str) -> &'a [Vec<Cell>] {
    record.findings.table_named(table).map_or(&[], |table: &Table| &table.rows)
}

/// The number in the cell `at`.
pub(super) fn number(row: &[Cell], at: usize) -> Option<f64> {
    match row.get(at)? {
        Cell::Number(number) => Some(number.value),
        Cell::Text(_) | Cell::Empty => None,
    }
}

/// The text in the cell `at`.
pub(super) fn text(row: &[Cell], at: usize) -> &str {
    match row.get(at) {
        Some(Cell::Text(text)) => text,
        _ => "",
    }
}
