//! Series, facts and the worst samples.

use std::collections::BTreeMap;

use unjank_measure::RunRecord;

use super::layout::{Column, GAP, columns, folded, in_line, paragraph, widest};
use super::paint::{Paint, heading};
use crate::layout;
use crate::samples::Worst;
use crate::visible::visible;
use crate::words;

/// The least width of names beside their numbers; otherwise names have their own lines.
const NAME: usize = 20;

/// The most worst samples of one series.
const PER_SERIES: usize = 5;

/// All series: n, missed periods, and the most usual quantiles.
pub(super) fn series(record: &RunRecord, width: usize) -> Vec<String> {
    let all = &record.findings.series;
    let mut names = Names::default();
    let mut rows: Vec<Vec<String>> = Vec::new();
    for series in all {
        let missed = words::grouped(series.missed);
        let [p50, _, p99, p99_9, _] = words::quantiles(series)
            .map(|quantile| quantile.map_or_else(|| "–".to_owned(), |quantile| quantile.value));
        let max = series.summary.map(|summary| words::value(series.unit, summary.max as f64));
        rows.push(vec![
            names.next(&series.name, &series.labels),
            words::grouped(series.n),
            if series.missed > 0 { Paint::Open.on(&missed) } else { missed },
            p50,
            p99,
            p99_9,
            max.unwrap_or_else(|| "–".to_owned()),
        ]);
    }
    named_table(["Series", "n", "missed", "p50", "p99", "p99.9", "max"], rows, width)
}

/// All facts.
pub(super) fn facts(record: &RunRecord, width: usize) -> Vec<String> {
    let mut names = Names::default();
    let rows = layout::facts(record)
        .map(|fact| {
            let interval = fact.interval.map(|interval| words::interval(fact.unit, interval));
            vec![
                names.next(&fact.name, &fact.labels),
                words::value(fact.unit, fact.value),
                interval.unwrap_or_default(),
                fact.n.map(words::grouped).unwrap_or_default(),
            ]
        })
        .collect();
    named_table(["Facts", "value", "95 % interval", "n"], rows, width)
}

/// The two ends of all curves.
pub(super) fn curves(record: &RunRecord, width: usize) -> Vec<String> {
    let mut names = Names::default();
    let rows = record
        .findings
        .curves
        .iter()
        .map(|curve| {
            let [first, last] = words::curve_ends(curve).unwrap_or_default();
            let points = words::grouped(curve.points.len() as u64);
            vec![names.next(&curve.name, &curve.labels), points, first, last]
        })
        .collect();
    named_table(["Curves", "points", "first", "last"], rows, width)
}

/// The worst samples with their causes, series by series.
pub(super) fn worst_samples(record: &RunRecord, width: usize) -> Vec<String> {
    let mut worst = Worst::of(record);
    let all = worst.samples.len();
    worst.samples.retain(|sample| sample.number <= PER_SERIES);
    worst.more += all - worst.samples.len();
    if worst.samples.is_empty() {
        return Vec::new();
    }
    let soft = |text: &str| Paint::Soft.on(text);
    let mut numbers = vec![vec![soft("value"), soft("at"), soft("CPU")]];
    numbers.extend(worst.samples.iter().map(|sample| {
        vec![
            words::value(sample.unit, sample.outlier.value as f64),
            words::duration(sample.outlier.at),
            sample.outlier.cpu.map(|cpu| cpu.to_string()).unwrap_or_default(),
        ]
    }));
    let numbers = in_line(&numbers);
    let kinds = [Column::Fixed(widest(numbers.iter().map(String::as_str)) + 2), Column::Text];
    let line = |numbers: &str, cause: String| {
        columns(&kinds, &[vec![format!("  {numbers}"), cause]], width)
    };
    let head = if worst.have_causes() { "cause" } else { "cause not recorded" };

    let mut lines = vec![heading("Worst samples")];
    lines.extend(line(&numbers[0], soft(head)));
    for (sample, numbers) in worst.samples.iter().zip(&numbers[1..]) {
        if sample.number == 1 {
            lines.extend(folded(&sample.name, width).lines().map(str::to_owned));
        }
        let cause = match &sample.outlier.cause {
            Some(cause) => visible(cause).into_owned(),
            None if worst.have_causes() => soft("not recorded"),
            None => String::new(),
        };
        lines.extend(line(numbers, cause));
    }
    if worst.more > 0 {
        lines.push(soft(&format!("{} more with --json", words::grouped(worst.more as u64))));
    }
    lines
}

/// A table of names and numbers. Names that do not fit have their own lines.
fn named_table<const N: usize>(
    head: [&str; N],
    rows: Vec<Vec<String>>,
    width: usize,
) -> Vec<String> {
    if rows.is_empty() {
        return Vec::new();
    }
    let mut first: Vec<String> = head.map(|name| Paint::Soft.on(name)).into();
    first[0] = heading(head[0]);
    let rows: Vec<Vec<String>> = std::iter::once(first).chain(rows).collect();
    let numbers = in_line(&rows.iter().map(|row| row[1..].to_vec()).collect::<Vec<_>>());
    let longest = widest(numbers.iter().map(String::as_str));
    let names = widest(rows.iter().flat_map(|row| row[0].lines()));
    let room = width.saturating_sub(longest + usize::from(GAP));
    let fold = |name: &str, room: usize| {
        let lines = name.lines().flat_map(|line| match line.strip_prefix("  ") {
            Some(labels) => paragraph(2, labels, room),
            None => vec![folded(line, room)],
        });
        lines.collect::<Vec<_>>().join("\n")
    };
    if names > room && room < NAME {
        return rows
            .iter()
            .zip(numbers)
            .flat_map(|(row, numbers)| {
                let name = fold(&row[0], width);
                let mut lines: Vec<String> = name.lines().map(str::to_owned).collect();
                lines.push(format!("  {numbers}"));
                lines
            })
            .collect();
    }
    let kinds = [Column::Fixed(names.min(room)), Column::Fixed(longest)];
    let rows: Vec<Vec<String>> =
        rows.iter().zip(numbers).map(|(row, numbers)| vec![fold(&row[0], room), numbers]).collect();
    columns(&kinds, &rows, width)
}

/// Names in a column: a name that repeats the row above is replaced by the labels in
/// which the two differ.
#[derive(Default)]
struct Names<'a> {
    above: Option<(&'a str, &'a BTreeMap<String, String>)>,
}

impl<'a> Names<'a> {
    fn next(&mut self, name: &'a str, labels: &'a BTreeMap<String, String>) -> String {
        let above = self.above.replace((name, labels));
        let differing: BTreeMap<String, String> = match above {
            Some((above, others)) if above == name => {
                let differs = |(name, value): &(&String, &String)| others.get(*name) != Some(value);
                labels.iter().filter(differs).map(|(n, v)| (n.clone(), v.clone())).collect()
            }
            _ => BTreeMap::new(),
        };
        if !differing.is_empty() {
            return format!("  {}", words::labels(&differing));
        }
        let name = visible(name);
        if labels.is_empty() {
            name.into_owned()
        } else {
            format!("{name}\n  {}", words::labels(labels))
        }
    }
}
