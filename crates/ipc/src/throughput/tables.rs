//! Tables with the columns of Google Benchmark, and rates.

use unjank_host::Bytes;
use unjank_measure::{Cell as Shown, Column, Number, Table, Unit};

use super::median::Median;
use super::{Cell, Measurements};
use crate::transport::Transport;

/// The most calls and the most bytes in a second, in a sentence; `None` without calls.
pub(super) fn headline(measurements: &Measurements) -> Option<String> {
    let most = |value: fn(&Cell) -> Option<Median>| {
        let cells = measurements.cells.iter();
        let values = cells.filter_map(|cell| Some((cell, value(cell)?.value)));
        values.max_by(|(_, one), (_, other)| one.total_cmp(other))
    };
    let (calls, per_second) = most(Cell::calls_per_second)?;
    let (bytes, each_way) = most(Cell::bytes_per_second)?;
    Some(format!(
        "Most calls: {}, {} with {}; most data: {}, {} each way with {}",
        calls.transport,
        Unit::PerSecond.show(per_second),
        Bytes(calls.payload as u64),
        bytes.transport,
        Unit::BytesPerSecond.show(each_way),
        Bytes(bytes.payload as u64)
    ))
}

/// One line for each transport and payload, and one for each of their turns.
pub(super) fn tables(measurements: &Measurements) -> [Table; 2] {
    [summary(measurements), turns(measurements)]
}

fn summary(measurements: &Measurements) -> Table {
    let columns = [
        Column::text("benchmark"),
        Column::of("time (95 % interval)", Unit::Nanoseconds),
        Column::of("CPU", Unit::Nanoseconds),
        Column::of("iterations", Unit::Count),
        Column::of("calls", Unit::PerSecond),
        Column::of("bytes each way", Unit::BytesPerSecond),
    ];
    let rounds = measurements.cells.first().map_or(0, |cell| cell.rounds.len());
    let median = |median: Option<Median>| Shown::maybe(median.map(|median| median.value));
    let rows = measurements.cells.iter().map(|cell| {
        let time = cell.time().map(|time| Number::new(time.value).within(time.interval));
        [
            name(cell).into(),
            Shown::maybe(time),
            median(cell.cpu()),
            Shown::number(cell.calls() as f64),
            median(cell.calls_per_second()),
            median(cell.bytes_per_second()),
        ]
    });
    Table::new("ipc/throughput/summary", "Round trips back to back", columns)
        .with_rows(rows)
        .with_note(format!(
            "Time: a whole round trip, the median over the means of {rounds} alternating turns, \
             each with a new server process. CPU: of the client's thread, including clock reads and recording."
        ))
}

/// Each turn as a repetition of a benchmark.
fn turns(measurements: &Measurements) -> Table {
    let columns = [
        Column::text("benchmark"),
        Column::of("payload", Unit::Bytes),
        Column::of("turn", Unit::Count),
        Column::of("iterations", Unit::Count),
        Column::of("time", Unit::Nanoseconds),
        Column::of("CPU", Unit::Nanoseconds),
    ];
    let rows = measurements.cells.iter().flat_map(|cell| {
        cell.rounds.iter().enumerate().map(|(turn, round)| {
            [
                name(cell).into(),
                Shown::number(cell.payload as f64),
                Shown::number(turn as f64),
                Shown::number(round.calls as f64),
                Shown::number(round.time),
                Shown::number(round.cpu),
            ]
        })
    });
    Table::new("ipc/throughput/turns", "Turns", columns).with_rows(rows)
}

/// The name that AOSP's benchmark has or would have for this transport.
fn name(cell: &Cell) -> String {
    let way = match cell.transport {
        Transport::Hwbinder => "binderize",
        other => other.name(),
    };
    format!("BM_sendVec_{way}/{}", cell.payload)
}
