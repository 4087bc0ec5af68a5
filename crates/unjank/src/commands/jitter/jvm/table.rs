//! What people read of the matrix: a line for each cell, and the paper's three
//! numbers beside ours.

use unjank_jitter::jvm::paper::{SOURCE, published};
use unjank_jitter::jvm::variant::Variant;
use unjank_measure::{Percentile, Quantity, RunRecord, SeriesRecord, Unit};

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
    let [jdk, collector, cpus, garbage] = LABELS.map(|name| label(cell, name).to_owned());
    let variant = label(cell, "variant").to_owned();
    let [p50, p99, p99_9, interval, worst] = match &cell.summary {
        Some(summary) => [
            time(summary.p50),
            time(summary.p99),
            time(summary.p99_9),
            interval(cell),
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

/// That of the 99.9th percentile.
fn interval(cell: &SeriesRecord) -> String {
    let tail = Quantity::percentile_of(cell, Percentile::P99_9, "p99.9");
    let ends = tail.and_then(|tail| tail.interval);
    ends.map_or_else(String::new, |ends| ends.map(|end| Unit::Nanoseconds.show(end)).join("–"))
}

/// Why the latest wake-up of a cell was late, without the details.
fn worst_cause(record: &RunRecord, cell: &SeriesRecord) -> String {
    let own = record.findings.outliers.iter().filter(|outlier| outlier.labels == cell.labels);
    let worst = own.max_by_key(|outlier| outlier.value);
    let cause = worst.and_then(|outlier| outlier.cause.as_deref()).unwrap_or("");
    cause.split(": ").next().unwrap_or("").to_owned()
}

/// Their cells, and what they leave to the future.
const BESIDE: [(bool, Variant, &str); 6] = [
    (false, Variant::WholeProcess, "no garbage"),
    (true, Variant::WholeProcess, "whole-process"),
    (true, Variant::Thread, "thread"),
    (true, Variant::InversionAware, "inversion-aware"),
    (true, Variant::Process, "process"),
    (true, Variant::Native, "native"),
];

/// The published worst wake-ups, and ours of such cells.
fn beside_the_paper(cells: &[&SeriesRecord]) -> Vec<String> {
    let jvm =
        |cell: &SeriesRecord| ["jdk", "collector", "cpus"].map(|name| label(cell, name).to_owned());
    let mut jvms: Vec<[String; 3]> = cells.iter().map(|cell| jvm(cell)).collect();
    jvms.dedup();
    let theirs = BESIDE.map(|(garbage, variant, _)| match published(garbage, variant) {
        Some(known) => time(known.worst.get()),
        None if matches!(variant, Variant::Process | Variant::Native) => "future work".to_owned(),
        None => String::new(),
    });
    let ours = jvms.into_iter().map(|of| {
        let worst = BESIDE.map(|(garbage, variant, _)| {
            let (garbage, variant) = (if garbage { "yes" } else { "no" }, variant.to_string());
            let like = |cell: &&&SeriesRecord| {
                jvm(cell) == of
                    && label(cell, "garbage") == garbage
                    && label(cell, "variant") == variant
            };
            let summary = cells.iter().find(like).and_then(|cell| cell.summary);
            summary.map_or_else(String::new, |summary| time(summary.max))
        });
        let [jdk, collector, cpus] = of;
        (format!("JDK {jdk}, {collector}, CPU {cpus}"), worst)
    });
    let row = |(who, worst): (String, [String; 6])| {
        let mut row = <[String; 7]>::default();
        row[0] = who;
        row[1..].clone_from_slice(&worst);
        row
    };
    let rows: Vec<[String; 7]> = [("Higashiyama et al.".to_owned(), theirs)]
        .into_iter()
        .chain(ours.filter(|(_, worst)| worst.iter().any(|worst| !worst.is_empty())))
        .map(row)
        .collect();
    if rows.len() < 2 {
        return Vec::new();
    }
    let mut header = [""; 7];
    header[1..].copy_from_slice(&BESIDE.map(|(_, _, name)| name));
    let mut text = vec![String::new(), "The worst wake-up beside the published ones:".to_owned()];
    text.extend(grid(rows.into_iter(), header));
    text.push(format!(
        "No garbage is with the whole process real-time. Published: {SOURCE}. Other machine, other \
         JVM: the order counts."
    ));
    text
}
