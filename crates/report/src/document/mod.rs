//! Records in the form of other programs' output, for what reads that.

mod google_benchmark;
mod schd_dbg;

use unjank_measure::{Cell, RunRecord, Table};

/// The document that stands for `record` where its command prints one.
pub(crate) fn document(record: &RunRecord) -> Option<String> {
    match record.command.as_str() {
        "schd-dbg" => Some(schd_dbg::document(record)),
        "ipc throughput" if setting(record, "benchmark_format") == Some("json") => {
            Some(google_benchmark::document(record))
        }
        _ => None,
    }
}

fn setting<'a>(record: &'a RunRecord, name: &str) -> Option<&'a str> {
    record.settings.get(name)?.as_str()
}

fn rows<'a>(record: &'a RunRecord, table: &str) -> &'a [Vec<Cell>] {
    record.findings.table_named(table).map_or(&[], |table: &Table| &table.rows)
}

/// The number in the cell `at`.
fn number(row: &[Cell], at: usize) -> Option<f64> {
    match row.get(at)? {
        Cell::Number(number) => Some(number.value),
        Cell::Text(_) | Cell::Empty => None,
    }
}

/// The text in the cell `at`.
fn text(row: &[Cell], at: usize) -> &str {
    match row.get(at) {
        Some(Cell::Text(text)) => text,
        _ => "",
    }
}
