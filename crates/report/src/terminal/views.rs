//! The tables of a record, each in its view.

use comfy_table::{CellAlignment, presets};
use unjank_measure::{RunRecord, Table};

use super::layout::paragraph;
use super::paint::{Paint, heading};
use crate::table::{self, bars, drawn, is_numeric, text, used};
use crate::timeline::{self, Timeline};
use crate::views::{View, view};
use crate::visible::visible;

/// The longest bar, in characters.
const BAR: f64 = 40.0;

/// Blocks of lines, one for each table that has rows.
pub(super) fn tables(record: &RunRecord, prose: usize) -> Vec<Vec<String>> {
    drawn(record).map(|table| block(table, record, prose)).collect()
}

fn block(table: &Table, record: &RunRecord, prose: usize) -> Vec<String> {
    let mut lines = Vec::new();
    if !table.title.is_empty() {
        lines.extend(paragraph(0, &heading(&visible(&table.title)), prose));
    }
    lines.extend(match view(table) {
        View::Rows | View::Matrix | View::Data => rows(table),
        View::Cards => table.rows.iter().flat_map(|row| card(table, row, prose)).collect(),
        View::Bars => bar_lines(table),
        View::Timeline => timeline::lines(&Timeline::of(table, record), prose),
    });
    if view(table) == View::Timeline {
        // The notes are about its rows, which are on the page.
        return lines;
    }
    for note in &table.notes {
        lines.extend(paragraph(0, &Paint::Soft.on(&visible(note)), prose));
    }
    lines
}

/// Rows under headings, with numbers aligned to the right.
fn rows(table: &Table) -> Vec<String> {
    let used = used(table);
    let mut grid = comfy_table::Table::new();
    let heads = used.iter().map(|&at| Paint::Soft.on(&table::heading(table, at)));
    grid.load_style(presets::NOTHING).set_header(heads);
    for row in &table.rows {
        grid.add_row(used.iter().map(|&at| text(table, row, at)));
    }
    for (place, &at) in used.iter().enumerate() {
        if is_numeric(&table.columns[at])
            && let Some(column) = grid.column_mut(place)
        {
            column.set_cell_alignment(CellAlignment::Right);
        }
    }
    // Each cell has a space on both sides.
    grid.lines().map(|line| line.strip_prefix(' ').unwrap_or(&line).to_owned()).collect()
}

/// The first cell as a heading, and each other cell with its column's name.
fn card(table: &Table, row: &[unjank_measure::Cell], prose: usize) -> Vec<String> {
    let mut lines = paragraph(0, &text(table, row, 0), prose);
    for at in used(table).into_iter().skip(1) {
        let cell = text(table, row, at);
        if !cell.is_empty() {
            let name = Paint::Soft.on(&table::heading(table, at));
            lines.extend(paragraph(2, &format!("{name}: {cell}"), prose));
        }
    }
    lines
}

fn bar_lines(table: &Table) -> Vec<String> {
    let bars = bars(table);
    let longest = bars.iter().map(|bar| bar.label.chars().count()).max().unwrap_or(0);
    let length = |share: f64| (share * BAR).round() as usize;
    let line = |bar: &table::Bar| {
        let (filled, whole) = (length(bar.filled), length(bar.whole).max(1));
        let drawn = format!("{}{}", "█".repeat(filled), "░".repeat(whole.saturating_sub(filled)));
        format!("{:longest$}  {drawn} {}", bar.label, bar.value)
    };
    bars.iter().map(line).collect()
}
