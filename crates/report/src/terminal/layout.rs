//! Columns and wrapped lines of a given width.

use comfy_table::presets::NOTHING;
use comfy_table::{ColumnConstraint, ContentArrangement, Table, Width};

/// The space between two columns.
pub(super) const GAP: u16 = 2;

/// The kind of a column.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Column {
    /// Aligned to the left, wrapped if the line is too short.
    Text,
    /// Aligned to the left, with this width.
    Fixed(usize),
}

/// Rows of cells in columns, as lines. Only `Text` columns become narrower if the table
/// is wider than `width`.
pub(super) fn columns(kinds: &[Column], rows: &[Vec<String>], width: usize) -> Vec<String> {
    if rows.is_empty() {
        return Vec::new();
    }
    let mut table = Table::new();
    table
        .load_style(NOTHING)
        .set_content_arrangement(ContentArrangement::Dynamic)
        .set_width(u16::try_from(width).unwrap_or(u16::MAX));
    for row in rows {
        table.add_row(row);
    }
    for (index, kind) in kinds.iter().enumerate() {
        let Some(column) = table.column_mut(index) else { continue };
        column.set_padding((0, if index + 1 == kinds.len() { 0 } else { GAP }));
        if let Column::Fixed(width) = kind {
            let width = Width::Fixed(u16::try_from(*width).unwrap_or(u16::MAX).saturating_add(GAP));
            column.set_constraint(ColumnConstraint::Absolute(width));
        }
    }
    table.lines().map(|line| line.trim_end().to_owned()).collect()
}

/// Each row of numbers as one text, with aligned columns.
pub(super) fn in_line(rows: &[Vec<String>]) -> Vec<String> {
    let cells = rows.iter().map(Vec::len).max().unwrap_or(0);
    let cell = |row: &Vec<String>, index: usize| row.get(index).cloned().unwrap_or_default();
    let widths: Vec<usize> = (0..cells)
        .map(|index| {
            rows.iter().map(|row| widest(std::iter::once(cell(row, index).as_str()))).max()
        })
        .map(Option::unwrap_or_default)
        .collect();
    let padded = |row: &Vec<String>, index: usize| {
        let text = cell(row, index);
        let free = widths[index].saturating_sub(widest(std::iter::once(text.as_str())));
        format!("{:free$}{text}", "")
    };
    let gap = " ".repeat(usize::from(GAP));
    rows.iter()
        .map(|row| (0..cells).map(|index| padded(row, index)).collect::<Vec<_>>().join(&gap))
        .collect()
}

/// The width of the widest cell on the terminal.
pub(super) fn widest<'a>(cells: impl Iterator<Item = &'a str>) -> usize {
    let mut table = Table::new();
    for cell in cells {
        table.add_row([cell]);
    }
    table.column_max_content_widths().first().map_or(0, |width| usize::from(*width))
}

/// A paragraph, indented by `indent` columns.
pub(super) fn paragraph(indent: usize, text: &str, width: usize) -> Vec<String> {
    columns(&[Column::Text], &[vec![text.to_owned()]], width.saturating_sub(indent))
        .into_iter()
        .map(|line| format!("{:indent$}{line}", ""))
        .collect()
}

/// A path over as many lines as it needs, broken after a `/`.
pub(super) fn folded(path: &str, width: usize) -> String {
    let mut lines: Vec<String> = vec![String::new()];
    for part in path.split_inclusive('/') {
        let long = |line: &String| line.chars().count() + part.chars().count() > width;
        if lines.last().is_some_and(|line| !line.is_empty() && long(line)) {
            lines.push(String::new());
        }
        if let Some(line) = lines.last_mut() {
            line.push_str(part);
        }
    }
    lines.join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::terminal::paint::{Paint, resolve};

    #[test]
    fn paint_changes_no_column() {
        let rows = |paint: bool| {
            let cell = |text: &str| if paint { Paint::Bad.on(text) } else { text.to_owned() };
            vec![
                vec![cell("a long name of something"), cell("1"), cell("✗ slow")],
                vec![cell("b"), cell("20"), cell("✓ healthy and more words")],
            ]
        };
        let kinds = [Column::Text, Column::Fixed(2), Column::Text];
        for width in [30, 40, 80] {
            let plain = columns(&kinds, &rows(false), width).join("\n");
            let painted = columns(&kinds, &rows(true), width).join("\n");
            assert_eq!(resolve(&painted, false).trim_end(), plain, "at {width}");
        }
    }

    #[test]
    fn numbers_are_aligned() {
        let row = |cells: [&str; 2]| cells.map(str::to_owned).to_vec();
        let rows = [row(["n", "max"]), row(["4,001", "–"]), row([&Paint::Open.on("7"), "12.1 µs"])];
        let lines = in_line(&rows).iter().map(|line| resolve(line, false)).collect::<String>();
        assert_eq!(lines, "    n      max\n4,001        –\n    7  12.1 µs\n");
    }

    #[test]
    fn paragraphs_are_indented() {
        assert_eq!(paragraph(4, "one two three four", 14), ["    one two", "    three four"]);
        assert_eq!(paragraph(0, "one two", 80), ["one two"]);
    }

    #[test]
    fn paths_break_after_a_slash() {
        assert_eq!(folded("jitter/native/fifo/wakeup", 15), "jitter/native/\nfifo/wakeup");
        assert_eq!(folded("swap/page_in", 40), "swap/page_in");
    }
}
