//! The table of a comparison: one row for each load.

use unjank_measure::{Cell, Column, Fact, Findings, Number, Table, Unit};

use super::metric::in_words;
use super::rows::{Row, rows};

/// A table for each pair of conditions.
pub(super) fn tables(findings: &Findings) -> Vec<Table> {
    let all = rows(findings);
    let same = all.chunk_by(|one, other| arms(one) == arms(other));
    same.map(|rows| table(findings, rows)).collect()
}

fn table(findings: &Findings, rows: &[Row]) -> Table {
    let [a, b] = rows.first().map_or(["", ""], arms);
    let columns = [
        Column::text("launch"),
        Column::of("A", Unit::Nanoseconds),
        Column::of("B", Unit::Nanoseconds),
        Column::of("difference (95 % interval)", Unit::Change),
        Column::of("n", Unit::Count),
        Column::text("answer"),
        Column::of("not ready", Unit::Count),
    ];
    let mut table = Table::new("launch/bench/pairs", format!("A: {a}; B: {b}"), columns)
        .with_rows(rows.iter().map(|row| cells(findings, row)))
        .with_note(
            "A, B: medians; their 95 % intervals are among the facts. Difference: median within \
             pairs, as a share of A.",
        );
    table.notes.extend(rows.iter().filter_map(remark));
    table
}

/// What a row has no column for: the noise floor, and why there is no interval.
fn remark(row: &Row) -> Option<String> {
    let (what, n) = (in_words(&row.name), row.baseline.1.n.unwrap_or(0));
    match (row.noise_floor, &row.difference) {
        (Some(floor), _) => Some(format!(
            "Noise floor, {what}: {} of A. With {n} pairs, a smaller difference is found less often \
             than four times out of five.",
            Unit::Ratio.show(floor)
        )),
        (None, Some(difference)) if difference.interval.is_none() => {
            Some(format!("{what}: cannot tell: {}.", row.reason))
        }
        _ => None,
    }
}

fn arms(row: &Row) -> [&str; 2] {
    [&row.baseline.0, &row.other.0]
}

fn cells(findings: &Findings, row: &Row) -> [Cell; 7] {
    let missed: u64 = findings
        .series
        .iter()
        .filter(|series| series.name == row.name)
        .filter(|series| series.labels.get("against").is_none_or(|against| *against == row.other.0))
        .map(|series| series.missed)
        .sum();
    [
        in_words(&row.name).into(),
        median(&row.baseline.1),
        median(&row.other.1),
        change(row.difference.as_ref()),
        Cell::maybe(row.baseline.1.n.map(|n| n as f64)),
        row.answer.words().into(),
        Cell::maybe((missed > 0).then_some(missed as f64)),
    ]
}

/// A median in its unit.
pub(crate) fn median(fact: &Fact) -> Cell {
    Number::new(fact.value).of(fact.unit).into()
}

/// A change as a share, and its interval.
pub(crate) fn change(fact: Option<&Fact>) -> Cell {
    Cell::maybe(fact.map(|fact| Number::new(fact.value).within(fact.interval)))
}
