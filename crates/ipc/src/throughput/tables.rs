//! Tables with the columns of Google Benchmark, and rates.

use unjank_host::Bytes;
use unjank_measure::{Cell as Shown, Column, Number, Table, Unit};

use super::median::Median;
use super::{Cell, Measurements};
use crate::transport::Transport;

/// The most calls and the most bytes in a second, in a sentence; `None` without calls.
/// `passthrough` calls no other process, so it counts only if nothing else was measured.
pub(super) fn headline(measurements: &Measurements) -> Option<String> {
    let is_call = |cell: &&Cell| cell.transport != Transport::Passthrough;
    let between: Vec<&Cell> = measurements.cells.iter().filter(is_call).collect();
    let counted = if between.is_empty() { measurements.cells.iter().collect() } else { between };
    let most = |value: fn(&Cell) -> Option<Median>| {
        let values = counted.iter().filter_map(|cell| Some((cell, value(cell)?.value)));
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

#[cfg(test)]
mod tests {
    use unjank_measure::Series;

    use super::super::Round;
    use super::*;

    fn cell(transport: Transport, time: f64) -> Cell {
        let series = Series::new("ipc/any/round_trip").finish();
        let rounds = vec![Round { calls: 10, time, cpu: time }];
        Cell { transport, payload: 8, series, rounds }
    }

    #[test]
    fn a_plain_call_is_no_rival_of_calls_to_another_process() {
        let plain = || cell(Transport::Passthrough, 50.0);
        let [unix, pipe] = [(Transport::Unix, 8_000.0), (Transport::Pipe, 9_000.0)]
            .map(|(transport, time)| cell(transport, time));
        let headline_of = |cells: Vec<Cell>| {
            headline(&Measurements { cells, ..Measurements::default() }).unwrap()
        };
        let all = headline_of(vec![plain(), unix, pipe]);
        assert!(
            all.starts_with("Most calls: unix, 125,000/s with 8 B; most data: unix, "),
            "{all}"
        );
        assert!(headline_of(vec![plain()]).starts_with("Most calls: passthrough, "));
    }
}
