//! The table that people read: Google Benchmark's columns, and rates.

use comfy_table::{CellAlignment, Table, presets};
use unjank_ipc::throughput::{Cell, Outcome};
use unjank_measure::{RunRecord, Unit};

use super::name_of;

const HEADER: [&str; 7] =
    ["Benchmark", "Time", "95 % interval", "CPU", "Iterations", "calls/s", "bytes/s each way"];

/// One line for each transport and payload, then what there is to know.
pub(super) fn table(record: &RunRecord, outcome: &Outcome) -> String {
    let mut table = Table::new();
    table.load_style(presets::NOTHING).set_header(HEADER);
    for cell in &outcome.cells {
        table.add_row(row(cell));
    }
    for index in 1..HEADER.len() {
        if let Some(column) = table.column_mut(index) {
            column.set_cell_alignment(CellAlignment::Right);
        }
    }
    let mut lines: Vec<String> = table.lines().map(|line| line.trim().to_owned()).collect();
    let rounds = outcome.cells.first().map_or(0, |cell| cell.rounds.len());
    lines.push(String::new());
    lines.push(format!(
        "Time: a whole round trip, the median of {rounds} alternating turns' means; CPU: of the \
         client's thread, with the stamps and what notes them."
    ));
    for missing in &record.findings.unsupported {
        lines.push(format!("{}: n/a ({})", missing.what, missing.reason));
    }
    lines.extend(record.findings.warnings.iter().map(|warning| format!("! {warning}")));
    lines.join("\n")
}

fn row(cell: &Cell) -> [String; 7] {
    let nanos = |value: f64| format!("{value:.*} ns", usize::from(value < 1_000.0));
    let shown = |unit: Unit, value: Option<f64>| value.map(|value| unit.show(value));
    let time = cell.time();
    let interval = time.and_then(|time| time.interval);
    [
        Some(name_of(cell)),
        time.map(|time| nanos(time.value)),
        interval.map(|[low, high]| format!("{} – {}", nanos(low), nanos(high))),
        cell.cpu().map(|cpu| nanos(cpu.value)),
        Some(cell.calls().to_string()),
        cell.calls_per_second().map(|rate| format!("{:.0}", rate.value)),
        shown(Unit::BytesPerSecond, cell.bytes_per_second().map(|rate| rate.value)),
    ]
    .map(Option::unwrap_or_default)
}
