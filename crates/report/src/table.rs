//! Tables of a record, and the texts of their cells.

use unjank_measure::{Cell, Column, Mark, Number, RunRecord, Table, Unit};

use crate::views::{View, view};
use crate::visible::visible;
use crate::words;

/// The tables of a record that are drawn: those with rows, except [`View::Data`].
pub(crate) fn drawn(record: &RunRecord) -> impl Iterator<Item = &Table> {
    let all = record.findings.tables.iter();
    all.filter(|table| !table.rows.is_empty() && view(table) != View::Data)
}

/// The columns with at least one cell that is not empty.
pub(crate) fn used(table: &Table) -> Vec<usize> {
    let stands = |at: &usize| table.rows.iter().any(|row| row.get(*at) != Some(&Cell::Empty));
    (0..table.columns.len()).filter(stands).collect()
}

/// The heading of the column `at`.
pub(crate) fn heading(table: &Table, at: usize) -> String {
    table.columns.get(at).map_or_else(String::new, |column| visible(&column.name).into_owned())
}

/// The text of the cell `at` of `row`.
pub(crate) fn text(table: &Table, row: &[Cell], at: usize) -> String {
    match (row.get(at), table.columns.get(at)) {
        (Some(Cell::Text(text)), _) => visible(text).into_owned(),
        (Some(Cell::Number(number)), Some(column)) => shown(number, column, view(table)),
        _ => String::new(),
    }
}

/// Whether the cells of a column are numbers.
pub(crate) fn is_numeric(column: &Column) -> bool {
    column.unit.is_some()
}

/// `412 ms (400–420 ms)`, `1.31×+ (0.88×)`, `12.3 ±0.2`.
fn shown(number: &Number, column: &Column, view: View) -> String {
    let unit = number.unit.or(column.unit).unwrap_or(Unit::Count);
    let of = |value: f64| match column.digits {
        Some(digits) => unit.show_with(value, digits),
        None => words::value(unit, value),
    };
    let mark = number.mark.map(Mark::sign);
    let interval = number.interval.map(|ends| match view {
        View::Matrix => {
            // The wider side: an interval ends at 0 and at 1.
            let half = ends.map(|end| (end - number.value).abs()).into_iter().fold(0.0, f64::max);
            format!(" ±{}", of(half))
        }
        _ => format!(" ({})", words::interval(unit, ends)),
    });
    let deviation = number.deviation.map(|deviation| format!(" ± {}", of(deviation)));
    let second = number
        .beside
        .map(|second| format!(" ({})", words::value(column.beside.unwrap_or(unit), second)));
    let parts = [interval, deviation, second].into_iter().flatten();
    std::iter::once(of(number.value)).chain(mark.map(String::from)).chain(parts).collect()
}

/// A row of [`View::Bars`]: its label, its number as text, and two lengths as shares of
/// the longest bar: the filled part and the whole.
pub(crate) struct Bar {
    pub(crate) label: String,
    pub(crate) value: String,
    pub(crate) filled: f64,
    pub(crate) whole: f64,
}

/// The rows of a table as bars.
pub(crate) fn bars(table: &Table) -> Vec<Bar> {
    let number = |row: &[Cell], at: usize| match row.get(at) {
        Some(Cell::Number(number)) => number.value,
        _ => 0.0,
    };
    let longest = table.rows.iter().map(|row| number(row, 1)).fold(0.0, f64::max);
    let bar = |row: &Vec<Cell>| {
        let whole = if longest > 0.0 { number(row, 1) / longest } else { 0.0 };
        let share = number(row, 2).clamp(0.0, 1.0);
        Bar {
            label: text(table, row, 0),
            value: format!(
                "{}, {} {}",
                text(table, row, 1),
                text(table, row, 2),
                heading(table, 2)
            ),
            filled: whole * share,
            whole,
        }
    };
    table.rows.iter().map(bar).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn only(name: &str, column: Column, number: Number) -> String {
        let table = Table::new(name, "", [column]).with_rows([[number.into()]]);
        text(&table, &table.rows[0], 0)
    }

    #[test]
    fn a_cell_shows_all_parts_of_its_number() {
        let time = || Column::of("time", Unit::Nanoseconds);
        let number = Number::new(412e6).within(Some([400e6, 420e6]));
        assert_eq!(only("x", time(), number), "412 ms (400–420 ms)");
        let number = Number { deviation: Some(3e6), ..Number::new(412e6) };
        assert_eq!(only("x", time(), number), "412 ms ± 3.00 ms");
        let number = Number::new(1.31).marked(Some(Mark::Won)).beside(0.88);
        let column = Column::of("park", Unit::Times);
        assert_eq!(only("lock/bench/relative", column, number), "1.31×+ (0.88×)");
        let number = Number::new(0.123).within(Some([0.122, 0.126])).marked(Some(Mark::Best));
        let column = Column::of("1 MiB", Unit::Ratio);
        assert_eq!(only("swap/mrc/miss_ratio", column, number), "12.3 %* ±0.30 %");
        let column = Column::of("energy", Unit::WattHours).with_digits(5);
        assert_eq!(only("x", column, Number::new(0.005_023_12)), "5.0231 mWh");
    }

    #[test]
    fn hostile_text_is_escaped_and_empty_columns_are_left_out() {
        let columns = ["name", "nothing"].map(Column::text);
        let table = Table::new("x", "", columns).with_rows([["a\u{1b}[2J\n".into()]]);
        assert_eq!(used(&table), [0]);
        assert_eq!(text(&table, &table.rows[0], 0), "a\\u{1b}[2J\\n");
    }
}
