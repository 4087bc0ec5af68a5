//! Table 3, with intervals, answers, and the paper's figures beside ours.

use comfy_table::{CellAlignment, Table, presets};
use unjank_host::Joules;
use unjank_launch::power::Window;
use unjank_launch::power::paper;
use unjank_launch::power::table::Row;
use unjank_measure::RunRecord;

use crate::commands::launch::bench::table::percent;
pub(in crate::commands::launch) use crate::output::notes;

const HEADER: [&str; 8] = [
    "Sampling",
    "average",
    "95 % interval",
    "n",
    "difference",
    "95 % interval",
    "answer",
    "Jo & Suh",
];

/// One line for each sampling period, then what there is to know.
pub(super) fn table(record: &RunRecord, rows: &[Row], window: Window) -> String {
    let mut lines = grid(rows, window);
    for verdict in &record.findings.verdicts {
        lines.push(format!("{} {}: {}.", verdict.question, verdict.answer.words(), verdict.reason));
    }
    lines.extend(notes(record));
    lines.join("\n")
}

/// One line for each sampling period, and what stands in them.
pub(in crate::commands::launch) fn grid(rows: &[Row], window: Window) -> Vec<String> {
    let mut table = Table::new();
    table.load_style(presets::NOTHING).set_header(HEADER);
    let digits = digits(rows);
    for row in rows {
        table.add_row(cells(row, digits));
    }
    for index in 1..HEADER.len() {
        if let Some(column) = table.column_mut(index) {
            column.set_cell_alignment(CellAlignment::Right);
        }
    }
    let mut lines: Vec<String> = table.lines().map(|line| line.trim().to_owned()).collect();
    lines.push(String::new());
    let time = window.counted();
    let theirs = if time == paper::TIME { "" } else { ", theirs scaled to it" };
    lines.push(format!(
        "Energy in mWh over {time}{theirs}. Differences: the median over rounds of that within a \
         round; theirs is of averages."
    ));
    lines
}

fn cells(row: &Row, digits: usize) -> [String; 8] {
    let energy = |joules: f64| format!("{:.digits$}", Joules(joules).as_milliwatt_hours());
    let signed = |joules: f64| {
        format!("{:+.digits$}", Joules(joules).as_milliwatt_hours()).replace('-', "−")
    };
    let average = row.average.as_ref();
    let effect = row.effect.as_ref();
    let difference = effect.and_then(|effect| effect.difference);
    let ratio = effect.and_then(|effect| effect.ratio);
    let difference = difference.map(|difference| match ratio {
        Some(ratio) => format!("{} ({})", signed(difference.value), percent(ratio.value - 1.0)),
        None => signed(difference.value),
    });
    let paper = row.paper.map(|paper| match row.paper_difference {
        Some(share) => format!("{} ({})", energy(paper.0), percent(share)),
        None => energy(paper.0),
    });
    let asked = row.rate.to_string();
    [
        Some(if row.actual == row.rate { asked } else { format!("{asked} → {}", row.actual) }),
        average.map(|average| energy(average.value)),
        average
            .and_then(|average| average.interval)
            .map(|[low, high]| format!("{} – {}", energy(low), energy(high))),
        average.and_then(|average| average.n).map(|n| n.to_string()),
        Some(difference.unwrap_or_else(|| if effect.is_none() { "*" } else { "" }.to_owned())),
        ratio.map(|ratio| {
            let [low, high] = ratio.interval.map(|end| percent(end - 1.0));
            format!("{low} to {high}")
        }),
        effect.map(|effect| effect.answer.words().to_owned()),
        paper,
    ]
    .map(Option::unwrap_or_default)
}

/// Decimals that show a ten-thousandth of the average, as the paper's three do.
fn digits(rows: &[Row]) -> usize {
    let averages = rows.iter().filter_map(|row| row.average.as_ref());
    let largest = averages.map(|fact| Joules(fact.value).as_milliwatt_hours()).fold(0.0, f64::max);
    if largest <= 0.0 {
        return 3;
    }
    (4.0 - largest.log10().floor()).clamp(0.0, 9.0) as usize
}
