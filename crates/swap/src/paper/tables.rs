//! The paper's values and the modelled values as a table.

use unjank_measure::{Cell, Column, Number, Table, Unit};

use super::item::Item;
use super::reproduction::Reproduction;

/// One row for each value.
pub(super) fn table(reproduction: &Reproduction) -> Table {
    let columns = [
        Column::text("what"),
        Column::text("figure"),
        Column::text("Bahn & Kim"),
        Column::of("synthetic (95 % interval)", Unit::Count),
        Column::text("comes out"),
    ];
    let seeds = reproduction.items.first().map_or(0, |item| item.seeds);
    Table::new("swap/paper/values", "The paper's values, and those of synthetic phones", columns)
        .with_rows(reproduction.items.iter().map(cells))
        .with_note(format!(
            "Medians over {seeds} synthetic phones of each kind, and their intervals; the paper \
             gives approximate values, which are read as ranges (docs/method/swap.md). Writes to come: \
             pages that only the tier has at the end. All modelled: nothing of this was measured."
        ))
}

fn cells(item: &Item) -> [Cell; 5] {
    let unit = if item.unit == Unit::Ratio && !item.is_share() { Unit::Times } else { item.unit };
    let ours = item.median().map(|median| Number::new(median).of(unit).within(item.interval()));
    [
        item.what.into(),
        item.figure.into(),
        item.words.into(),
        ours.map_or_else(|| "never".into(), Cell::Number),
        item.answer().words().into(),
    ]
}
