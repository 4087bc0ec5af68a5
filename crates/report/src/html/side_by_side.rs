//! Series that several runs have, in shared charts and one table.

use maud::{Markup, html};
use unjank_measure::{RunRecord, SeriesRecord};

use crate::chart::LINES;
use crate::chart::percentiles::Percentiles;
use crate::group::is_part;
use crate::html::figure::{Figure, figure};
use crate::html::outline::Outline;
use crate::html::tables::{path, rest, scrolling};
use crate::title::Title;
use crate::visible::visible;
use crate::words;

/// The most series compared on one page.
const SERIES: usize = 60;
/// The most charts.
const CHARTS: usize = 12;

/// A series in several runs, with the numbers of the runs.
struct Shared<'a> {
    runs: Vec<(usize, &'a SeriesRecord)>,
}

/// Charts and a table of every series that more than one run has.
pub(super) fn section(records: &[RunRecord]) -> Markup {
    let shared = shared(records);
    if shared.is_empty() {
        return html! {};
    }
    let outline = Outline { level: 2, prefix: String::new() };
    let body = html! {
        div class="figures" {
            @for series in shared.iter().take(CHARTS) {
                @if let Some(chart) = chart(series, &outline) { (chart) }
            }
        }
        (scrolling("Series side by side", &table(&shared)))
        (rest(shared.len(), SERIES, "series"))
    };
    outline.section("side-by-side", &html! { "Side by side" }, &body)
}

/// Series with the same name and labels in at least two runs.
fn shared(records: &[RunRecord]) -> Vec<Shared<'_>> {
    let mut found: Vec<Shared<'_>> = Vec::new();
    for (index, record) in records.iter().enumerate() {
        for series in record.findings.series.iter().filter(|series| series.summary.is_some()) {
            let same = |shared: &&mut Shared<'_>| {
                let (_, other) = shared.runs[0];
                (&other.name, &other.labels, other.unit)
                    == (&series.name, &series.labels, series.unit)
            };
            match found.iter_mut().find(same) {
                Some(shared) => shared.runs.push((index + 1, series)),
                None => found.push(Shared { runs: vec![(index + 1, series)] }),
            }
        }
    }
    found.retain(|shared| shared.runs.len() > 1);
    // Wholes come first, so they have charts before parts do.
    let all: Vec<&SeriesRecord> = found.iter().map(|shared| shared.runs[0].1).collect();
    let parts: Vec<bool> = all.iter().map(|series| is_part(series, &all)).collect();
    let mut parts = parts.into_iter();
    let (parts, mut wholes): (Vec<_>, Vec<_>) =
        found.into_iter().partition(|_| parts.next().unwrap_or_default());
    wholes.extend(parts);
    wholes
}

fn chart(shared: &Shared<'_>, outline: &Outline) -> Option<Figure> {
    let (_, first) = shared.runs[0];
    let labels = words::labels(&first.labels);
    let labels = if labels.is_empty() { labels } else { format!(", {labels}") };
    let title = Title::of(&visible(&first.name)).within("percentiles of ", &labels);
    let series: Vec<(&SeriesRecord, String)> = shared
        .runs
        .iter()
        .take(LINES)
        .map(|(number, series)| (*series, format!("run {number}")))
        .collect();
    let chart = Percentiles::of(title.heading(), first.unit, &series, Vec::new(), true)?;
    let more = shared.runs.len().saturating_sub(LINES);
    let note = if more > 0 { format!("{more} more runs in the table") } else { String::new() };
    Some(figure(Box::new(chart), title, &note, outline))
}

fn table(shared: &[Shared<'_>]) -> Markup {
    html! {
        table class="dense" {
            caption { span {
                "Series that several runs have, with 95 % intervals. Other activity on the machine differs "
                "between runs, too; only alternating pairs within one run exclude that."
            } }
            thead { tr {
                th scope="col" { "Series" }
                @for name in ["run", "n", "missed", "p50", "p99", "p99.9", "max"] { th scope="col" class="n" { (name) } }
            } }
            tbody {
                @for shared in shared.iter().take(SERIES) {
                    @for (index, (number, series)) in shared.runs.iter().enumerate() {
                        (row(*number, series, index == 0))
                    }
                }
            }
        }
    }
}

fn row(number: usize, series: &SeriesRecord, first: bool) -> Markup {
    let [p50, _, p99, p99_9, _] = words::quantiles(series);
    html! {
        tr {
            th scope="row" {
                span class=[(!first).then_some("ditto")] {
                    (path(&series.name))
                    @if !series.labels.is_empty() { span class="under" { (words::labels(&series.labels)) } }
                }
            }
            td class="n" { a href={ "#run-" (number) } { (number) } }
            td class="n" { (words::grouped(series.n)) }
            td class="n" { (words::grouped(series.missed)) }
            @for quantile in [p50, p99, p99_9] { (super::tables::quantile(quantile)) }
            td class="n" {
                @if let Some(summary) = series.summary { (words::value(series.unit, summary.max as f64)) }
            }
        }
    }
}
