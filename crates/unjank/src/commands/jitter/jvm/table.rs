//! What people read of the matrix: a line for each cell, and the paper's three
//! numbers beside ours.

use unjank_jitter::jvm::paper::{PUBLISHED, SOURCE};
use unjank_measure::{RunRecord, SeriesRecord, Unit};

use crate::output::{grid, notes};

const HEADER: [&str; 12] = [
    "JDK",
    "collector",
    "CPUs",
    "garbage",
    "variant",
    "p50",
    "p99",
    "p99.9",
    "95 % interval",
    "worst",
    "missed",
    "the worst was",
];

/// The labels by which cells are sorted, in this order.
const LABELS: [&str; 4] = ["jdk", "collector", "cpus", "garbage"];

/// The tables, and what to know about them.
pub(super) fn text(record: &RunRecord) -> String {
    let cells = cells(record);
    let mut text = grid(cells.iter().map(|cell| line(record, cell)), HEADER);
    text.extend(beside_the_paper(&cells));
    text.extend(notes(record));
    text.join("\n")
}

/// The cells, those of one JVM together, variants as they were asked for.
fn cells(record: &RunRecord) -> Vec<&SeriesRecord> {
    let series = record.findings.series.iter();
    let mut cells: Vec<_> = series.filter(|series| series.name == "jitter/jvm/wakeup").collect();
    cells.sort_by_key(|cell| LABELS.map(|name| label(cell, name)));
    cells
}

fn label<'a>(cell: &'a SeriesRecord, name: &str) -> &'a str {
    cell.labels.get(name).map_or("", String::as_str)
}

fn time(nanos: u64) -> String {
    Unit::Nanoseconds.show(nanos as f64)
}

fn line(record: &RunRecord, cell: &SeriesRecord) -> [String; 12] {
    const TAIL: usize = 3;
    let [jdk, collector, cpus, garbage] = LABELS.map(|name| label(cell, name).to_owned());
    let variant = label(cell, "variant").to_owned();
    let [p50, p99, p99_9, interval, worst] = match &cell.summary {
        Some(summary) => [
            time(summary.p50),
            time(summary.p99),
            time(summary.p99_9),
            summary.intervals[TAIL]
                .map_or_else(String::new, |[low, high]| format!("{}–{}", time(low), time(high))),
            time(summary.max),
        ],
        None => Default::default(),
    };
    let missed = record
        .findings
        .facts
        .iter()
        .find(|fact| fact.name == "jitter/jvm/missed" && fact.labels == cell.labels)
        .map_or_else(String::new, |fact| Unit::Count.show(fact.value));
    let cause = worst_cause(record, cell);
    [jdk, collector, cpus, garbage, variant, p50, p99, p99_9, interval, worst, missed, cause]
}

/// Why the latest wake-up of a cell was late, without the details.
fn worst_cause(record: &RunRecord, cell: &SeriesRecord) -> String {
    let own = record.findings.outliers.iter().filter(|outlier| outlier.labels == cell.labels);
    let worst = own.max_by_key(|outlier| outlier.value);
    let cause = worst.and_then(|outlier| outlier.cause.as_deref()).unwrap_or("");
    cause.split(": ").next().unwrap_or("").to_owned()
}

/// The published worst wake-ups, and ours of such cells.
fn beside_the_paper(cells: &[&SeriesRecord]) -> Vec<String> {
    let worst = |cell: &SeriesRecord| cell.summary.map(|summary| summary.max);
    let rows = PUBLISHED.iter().flat_map(|known| {
        let garbage = if known.garbage { "yes" } else { "no" };
        let variant = known.variant.to_string();
        let like = move |cell: &&&SeriesRecord| {
            label(cell, "garbage") == garbage && label(cell, "variant") == variant
        };
        cells.iter().filter(like).filter_map(move |cell| {
            let [jdk, collector, cpus, garbage] = LABELS.map(|name| label(cell, name).to_owned());
            let figure = format!("Fig. {}", known.figure);
            let variant = known.variant.to_string();
            let (theirs, ours) = (time(known.worst.get()), time(worst(cell)?));
            Some([figure, garbage, variant, theirs, jdk, collector, cpus, ours])
        })
    });
    let rows: Vec<[String; 8]> = rows.collect();
    if rows.is_empty() {
        return Vec::new();
    }
    let header =
        ["", "garbage", "real-time", "worst, published", "JDK", "collector", "CPUs", "worst here"];
    let mut text = vec![String::new()];
    text.extend(grid(rows.into_iter(), header));
    text.push(format!("Published: {SOURCE}. Other machine, other JVM: the order counts."));
    text
}
