//! Tables for a terminal.

use comfy_table::{CellAlignment, Table, presets};
use unjank_report::one_line;

/// Rows under a header. The first column is left-aligned, the others right-aligned.
pub(crate) fn grid<const N: usize>(
    rows: impl Iterator<Item = [String; N]>,
    header: [&str; N],
) -> Vec<String> {
    let rows: Vec<Vec<String>> = rows.map(Vec::from).collect();
    columns(&rows, &header.map(str::to_owned))
}

/// The same for any number of columns.
pub(crate) fn columns(rows: &[Vec<String>], header: &[String]) -> Vec<String> {
    // Empty columns are omitted.
    let used: Vec<usize> =
        (0..header.len()).filter(|&at| rows.iter().any(|row| !row[at].is_empty())).collect();
    let mut table = Table::new();
    table.load_style(presets::NOTHING).set_header(used.iter().map(|&at| &header[at]));
    for row in rows {
        table.add_row(used.iter().map(|&at| one_line(&row[at])));
    }
    for place in 1..used.len() {
        if let Some(column) = table.column_mut(place) {
            column.set_cell_alignment(CellAlignment::Right);
        }
    }
    // Each cell has a space on both sides.
    let inner = |line: String| line.strip_prefix(' ').unwrap_or(&line).trim_end().to_owned();
    table.lines().map(inner).collect()
}
