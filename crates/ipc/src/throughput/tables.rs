//! What people read: Google Benchmark's columns, and rates.

use unjank_measure::{Cell as Shown, Column, Number, Table, Unit};

use super::median::Median;
use super::{Cell, Outcome};
use crate::transport::Transport;

/// One line for each transport and payload, and one for each of their turns.
pub(super) fn tables(outcome: &Outcome) -> [Table; 2] {
    [summary(outcome), turns(outcome)]
}

fn summary(outcome: &Outcome) -> Table {
    let columns = [
        Column::text("benchmark"),
        Column::of("time (95 % interval)", Unit::Nanoseconds),
        Column::of("CPU", Unit::Nanoseconds),
        Column::of("iterations", Unit::Count),
        Column::of("calls", Unit::PerSecond),
        Column::of("bytes each way", Unit::BytesPerSecond),
    ];
    let rounds = outcome.cells.first().map_or(0, |cell| cell.rounds.len());
    let median = |median: Option<Median>| Shown::maybe(median.map(|median| median.value));
    let rows = outcome.cells.iter().map(|cell| {
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
            "Time: a whole round trip, the median of {rounds} alternating turns' means; CPU: of the \
             client's thread, with the stamps and what notes them."
        ))
}

/// Each turn as a repetition of a benchmark.
fn turns(outcome: &Outcome) -> Table {
    let columns = [
        Column::text("benchmark"),
        Column::of("payload", Unit::Bytes),
        Column::of("turn", Unit::Count),
        Column::of("iterations", Unit::Count),
        Column::of("time", Unit::Nanoseconds),
        Column::of("CPU", Unit::Nanoseconds),
    ];
    let rows = outcome.cells.iter().flat_map(|cell| {
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

/// The name of AOSP's benchmark for a transport, or one like it.
fn name(cell: &Cell) -> String {
    let way = match cell.transport {
        Transport::Hwbinder => "binderize",
        other => other.name(),
    };
    format!("BM_sendVec_{way}/{}", cell.payload)
}
