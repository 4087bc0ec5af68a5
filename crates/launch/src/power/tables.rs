//! Table 3 for printing: intervals, answers, and the paper's figures beside ours.

use unjank_host::Joules;
use unjank_measure::{Cell, Column, Number, Table, Unit};

use super::table::Row;
use super::{Window, paper};

/// Significant digits, enough to show a ten-thousandth of the average, as the paper's
/// figures do.
const DIGITS: u8 = 5;

/// One line for each sampling period.
pub(crate) fn table(rows: &[Row], window: Window) -> Table {
    let energy = |name| Column::of(name, Unit::WattHours).with_digits(DIGITS);
    let columns = [
        Column::text("sampling"),
        energy("average (95 % interval)"),
        Column::of("n", Unit::Count),
        energy("difference"),
        Column::of("relative (95 % interval)", Unit::Change),
        Column::text("answer"),
        energy("Jo & Suh"),
        Column::of("theirs relative", Unit::Change),
    ];
    let time = window.counted();
    let theirs = if time == paper::TIME { "" } else { ", theirs scaled to it" };
    let title = format!("Energy over {time}{theirs}");
    Table::new("launch/power/periods", title, columns).with_rows(rows.iter().map(cells)).with_note(
        "Difference: median over rounds of the difference within a round; theirs: of averages.",
    )
}

fn cells(row: &Row) -> [Cell; 8] {
    let average = row.average.as_ref();
    let effect = row.effect.as_ref();
    let energy = |joules: f64| Joules(joules).as_milliwatt_hours() / 1e3;
    let of_average = average.map(|average| {
        let interval = average.interval.map(|ends| ends.map(energy));
        Number::new(energy(average.value)).within(interval)
    });
    let relative = effect.and_then(|effect| effect.ratio).map(|ratio| {
        Number::new(ratio.value - 1.0).within(Some(ratio.interval.map(|end| end - 1.0)))
    });
    let difference = effect.and_then(|effect| effect.difference);
    let asked = row.rate.to_string();
    let period = if row.actual == row.rate { asked } else { format!("{asked} → {}", row.actual) };
    [
        if effect.is_none() { format!("{period} *") } else { period }.into(),
        Cell::maybe(of_average),
        Cell::maybe(average.and_then(|average| average.n).map(|n| n as f64)),
        Cell::maybe(difference.map(|difference| energy(difference.value))),
        Cell::maybe(relative),
        Cell::maybe(effect.map(|effect| effect.answer.words())),
        Cell::maybe(row.paper.map(|paper| energy(paper.0))),
        Cell::maybe(row.paper_difference),
    ]
}
