//! The table of the split: time by way and activity.

use unjank_measure::Unit;
use unjank_measure::record::{Cell as TableCell, Column, Table};
use unjank_units::Nanos;

use super::explained::Explained;
use super::names::thread_name;
use crate::path::Way;
use crate::split::Cell;

/// A row for each way, a column for each activity that took time.
pub(super) fn table(launch: &Explained) -> Table {
    let split = launch.split();
    let used: Vec<Cell> =
        Cell::ALL.into_iter().filter(|cell| split.of_cell(*cell) > Nanos::ZERO).collect();
    let time = |time: Nanos| match time {
        Nanos::ZERO => TableCell::Empty,
        time => TableCell::number(time.get() as f64),
    };
    let mut columns = vec![Column::text("way")];
    columns.extend(used.iter().map(|cell| Column::of(cell.name(), Unit::Nanoseconds)));
    columns.push(Column::of("sum", Unit::Nanoseconds));
    let mut table = Table::new("why/split", "Where the time went", columns);
    let ways = Way::ALL.into_iter().filter(|way| split.of_way(*way) > Nanos::ZERO);
    for way in ways {
        let of = |cell: &Cell| split.cells.get(&(way, *cell)).copied().unwrap_or_default();
        let cells = used.iter().map(|cell| time(of(cell)));
        let name = std::iter::once(TableCell::from(name(way)));
        table.push(name.chain(cells).chain([time(split.of_way(way))]));
    }
    let sums = used.iter().map(|cell| time(split.of_cell(*cell)));
    table.push(std::iter::once(TableCell::from("all")).chain(sums).chain([time(split.total())]));
    if launch.thread == launch.first {
        return table;
    }
    let [own, first] = [launch.thread, launch.first].map(|it| thread_name(&launch.history, it));
    table.with_note(format!(
        "own thread is {own}, with the threads from which it descends up to {first}"
    ))
}

pub(super) fn name(way: Way) -> &'static str {
    match way {
        Way::Own => "own thread",
        Way::Lock => "lock",
        Way::Ipc => "ipc",
        Way::Child => "child",
        Way::Work => "kernel thread",
        Way::Other => "other thread",
    }
}
