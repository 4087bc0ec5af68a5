//! Tables of the matrix: a line for each cell, and the published worst wake-ups
//! beside the measured ones.

use unjank_measure::{
    Cell as Shown, Column, Findings, Number, Percentile, Quantity, SeriesRecord, Table, Unit,
};

use super::paper::{SOURCE, published};
use super::report::WAKEUP;
use super::variant::Variant;

/// The labels by which cells are sorted, in this order.
const LABELS: [&str; 4] = ["jdk", "collector", "cpus", "garbage"];

/// The cells, and the worst wake-up of each JVM beside the published ones.
pub(super) fn tables(findings: &Findings) -> Vec<Table> {
    let cells = cells(findings);
    let time = |name| Column::of(name, Unit::Nanoseconds);
    let columns = [
        Column::text("JDK"),
        Column::text("collector"),
        Column::text("CPUs"),
        Column::text("garbage"),
        Column::text("variant"),
        time("p50"),
        time("p99"),
        time("p99.9 (95 % interval)"),
        time("worst"),
        Column::of("missed", Unit::Count),
        Column::text("the worst was"),
    ];
    let rows = cells.iter().map(|cell| line(findings, cell));
    let rounds = cells.iter().map(|cell| cell.repetitions.len()).max().unwrap_or(0);
    let intervals = match rounds {
        0 | 1 => "Intervals hold the spread within one start of each JVM.".to_owned(),
        rounds => format!("Intervals are over {rounds} independent starts of each JVM."),
    };
    let table = Table::new("jitter/jvm/cells", "Wake-ups", columns).with_rows(rows);
    let mut tables = vec![table.with_note(intervals)];
    tables.extend(beside_the_paper(&cells));
    tables
}

/// The cells, grouped by JVM; variants in the order of the options.
fn cells(findings: &Findings) -> Vec<&SeriesRecord> {
    let series = findings.series.iter();
    let mut cells: Vec<_> = series.filter(|series| series.name == WAKEUP).collect();
    cells.sort_by_key(|cell| LABELS.map(|name| label(cell, name)));
    cells
}

fn label<'a>(cell: &'a SeriesRecord, name: &str) -> &'a str {
    cell.labels.get(name).map_or("", String::as_str)
}

fn line(findings: &Findings, cell: &SeriesRecord) -> Vec<Shown> {
    let mut row: Vec<Shown> = LABELS.map(|name| label(cell, name).into()).into();
    row.push(label(cell, "variant").into());
    let time = |nanos: u64| Shown::number(nanos as f64);
    match &cell.summary {
        Some(summary) => {
            let tail = Quantity::percentile_of(cell, Percentile::P99_9, "p99.9");
            let interval = tail.and_then(|tail| tail.interval);
            let p99_9 = Number::new(summary.p99_9 as f64).within(interval);
            row.extend([time(summary.p50), time(summary.p99), p99_9.into(), time(summary.max)]);
        }
        None => row.resize(row.len() + 4, Shown::Empty),
    }
    let mut facts = findings.facts.iter();
    let missed = facts.find(|fact| fact.name == "jitter/jvm/missed" && fact.labels == cell.labels);
    row.push(Shown::maybe(missed.map(|fact| fact.value)));
    row.push(worst_cause(findings, cell).into());
    row
}

/// The cause of a cell's latest wake-up, without details.
fn worst_cause<'a>(findings: &'a Findings, cell: &SeriesRecord) -> &'a str {
    let own = findings.outliers.iter().filter(|outlier| outlier.labels == cell.labels);
    let worst = own.max_by_key(|outlier| outlier.value);
    let cause = worst.and_then(|outlier| outlier.cause.as_deref()).unwrap_or("");
    cause.split(": ").next().unwrap_or("")
}

/// The cells of the paper, its future work, and `inversion-aware`.
const BESIDE: [(bool, Variant, &str); 6] = [
    (false, Variant::WholeProcess, "no garbage"),
    (true, Variant::WholeProcess, "whole-process"),
    (true, Variant::Thread, "thread"),
    (true, Variant::InversionAware, "inversion-aware"),
    (true, Variant::Process, "process"),
    (true, Variant::Native, "native"),
];

/// The published worst wake-ups, and those of the same cells here.
fn beside_the_paper(cells: &[&SeriesRecord]) -> Option<Table> {
    let jvm =
        |cell: &SeriesRecord| ["jdk", "collector", "cpus"].map(|name| label(cell, name).to_owned());
    let mut jvms: Vec<[String; 3]> = cells.iter().map(|cell| jvm(cell)).collect();
    jvms.dedup();
    let theirs = BESIDE.map(|(garbage, variant, _)| match published(garbage, variant) {
        Some(known) => Shown::number(known.worst.get() as f64),
        None if matches!(variant, Variant::Process | Variant::Native) => "future work".into(),
        None => Shown::Empty,
    });
    let ours = jvms.into_iter().filter_map(|of| {
        let worst = BESIDE.map(|(garbage, variant, _)| {
            let (garbage, variant) = (if garbage { "yes" } else { "no" }, variant.to_string());
            let like = |cell: &&&SeriesRecord| {
                jvm(cell) == of
                    && label(cell, "garbage") == garbage
                    && label(cell, "variant") == variant
            };
            let summary = cells.iter().find(like).and_then(|cell| cell.summary);
            Shown::maybe(summary.map(|summary| summary.max as f64))
        });
        let [jdk, collector, cpus] = of;
        let any = worst.iter().any(|worst| *worst != Shown::Empty);
        any.then(|| (format!("JDK {jdk}, {collector}, CPU {cpus}"), worst))
    });
    let ours: Vec<(String, [Shown; 6])> = ours.collect();
    if ours.is_empty() {
        return None;
    }
    let rows = [("Higashiyama et al.".to_owned(), theirs)].into_iter().chain(ours);
    let columns = BESIDE.map(|(_, _, name)| Column::of(name, Unit::Nanoseconds));
    let columns = std::iter::once(Column::text("whose")).chain(columns);
    let rows =
        rows.map(|(who, worst)| std::iter::once(who.into()).chain(worst).collect::<Vec<_>>());
    let title = "Worst wake-ups, published and measured";
    Some(Table::new("jitter/jvm/published", title, columns).with_rows(rows).with_note(format!(
        "The column without garbage is with whole-process. Published: {SOURCE}. Machine and JVM \
         differ: compare only the order of the variants."
    )))
}
