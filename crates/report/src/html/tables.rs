//! Tables of all series, facts and worst samples.

use maud::{Markup, PreEscaped, html};
use unjank_measure::{Fact, RunRecord, SeriesRecord};

use crate::html::outline::Outline;
use crate::layout;
use crate::samples::{Sample, Worst};
use crate::visible::visible;
use crate::words::{self, Quantile};

/// The most rows of one table; the rest is in the record.
const ROWS: usize = 500;

/// The worst samples with their times and causes.
pub(super) fn worst_samples(record: &RunRecord, outline: &Outline) -> Markup {
    let worst = Worst::of(record);
    if worst.samples.is_empty() {
        return html! {};
    }
    let causes = worst.have_causes();
    let body = scrolling(
        "Worst samples",
        &html! {
            table class=[(!causes).then_some("narrow")] {
                caption { span {
                    "The worst samples of each series, with the time since the series began"
                    @if causes { " and their causes." } @else { ". Their causes were not recorded." }
                } }
                thead { tr {
                    th scope="col" { "Series" }
                    @for name in ["No.", "Value", "At", "CPU"] { th scope="col" class="n" { (name) } }
                    @if causes { th scope="col" { "Cause" } }
                } }
                tbody { @for sample in &worst.samples { (sample_row(sample, causes)) } }
            }
            @if worst.more > 0 { p class="note" { (words::grouped(worst.more as u64)) " more with --json." } }
        },
    );
    outline.section("worst", &html! { "Worst samples" }, &body)
}

fn sample_row(sample: &Sample<'_>, causes: bool) -> Markup {
    let outlier = sample.outlier;
    html! {
        tr {
            th scope="row" { span class=[(sample.number > 1).then_some("ditto")] { (path(&sample.name)) } }
            td class="n" { (sample.number) }
            td class="n" { strong { (words::value(sample.unit, outlier.value as f64)) } }
            td class="n" { (words::duration(outlier.at)) }
            td class="n" { @if let Some(cpu) = outlier.cpu { (cpu) } }
            @if causes {
                td class="text" {
                    @match &outlier.cause {
                        Some(cause) => (visible(cause)),
                        None => span class="muted" { "not recorded" },
                    }
                }
            }
        }
    }
}

/// All series with their quantiles and intervals.
pub(super) fn series(record: &RunRecord, outline: &Outline) -> Markup {
    let series = &record.findings.series;
    if series.is_empty() {
        return html! {};
    }
    let body = scrolling(
        "Series",
        &html! {
            table class="dense" {
                caption { span { "Quantiles of every series, each with its 95 % interval below; – means too few samples." } }
                thead { tr {
                    th scope="col" { "Series" }
                    @for name in ["n", "missed", "min", "p50", "p90", "p99", "p99.9", "p99.99", "max"] {
                        th scope="col" class="n" { (name) }
                    }
                } }
                tbody { @for series in series.iter().take(ROWS) { (series_row(series)) } }
            }
            (rest(series.len(), ROWS, "series"))
        },
    );
    outline.section("series", &html! { "Series" }, &body)
}

fn series_row(series: &SeriesRecord) -> Markup {
    let show = |sample: u64| words::value(series.unit, sample as f64);
    html! {
        tr {
            th scope="row" {
                (path(&series.name))
                @if !series.labels.is_empty() { span class="under" { (words::labels(&series.labels)) } }
            }
            td class="n" { (words::grouped(series.n)) }
            td class="n" { @if series.missed > 0 { strong { (words::grouped(series.missed)) } } @else { "0" } }
            @match &series.summary {
                Some(summary) => {
                    td class="n" { (show(summary.min)) }
                    @for value in words::quantiles(series) { (quantile(value)) }
                    td class="n" { (show(summary.max)) }
                },
                None => td colspan="7" { span class="muted" { "no samples" } },
            }
        }
    }
}

/// A cell with a quantile and, below it, its interval.
pub(super) fn quantile(quantile: Option<Quantile>) -> Markup {
    html! {
        td class="n" {
            @match quantile {
                Some(quantile) => {
                    (quantile.value)
                    @if let Some(interval) = quantile.interval { span class="under" { (interval) } }
                },
                None => span class="muted" { "–" },
            }
        }
    }
}

/// All facts.
pub(super) fn facts(record: &RunRecord, outline: &Outline) -> Markup {
    let facts = &record.findings.facts;
    if facts.is_empty() {
        return html! {};
    }
    let body = scrolling(
        "Facts",
        &html! {
            table class="dense" {
                caption { span { "Single numbers, with 95 % intervals where they have one." } }
                thead { tr {
                    th scope="col" { "Fact" }
                    th scope="col" class="n" { "Value" }
                    th scope="col" class="n" { "95 % interval" }
                    th scope="col" class="n" { "n" }
                } }
                tbody { @for fact in layout::facts(record).take(ROWS) { (fact_row(fact)) } }
            }
            (rest(facts.len(), ROWS, "facts"))
        },
    );
    outline.section("facts", &html! { "Facts" }, &body)
}

fn fact_row(fact: &Fact) -> Markup {
    html! {
        tr {
            th scope="row" {
                (path(&fact.name))
                @if !fact.labels.is_empty() { span class="under" { (words::labels(&fact.labels)) } }
            }
            td class="n" { strong { (words::value(fact.unit, fact.value)) } }
            td class="n" { @if let Some(interval) = fact.interval { (words::interval(fact.unit, interval)) } }
            td class="n" { @if let Some(n) = fact.n { (words::grouped(n)) } }
        }
    }
}

/// A table that scrolls by itself if the screen is narrower.
pub(super) fn scrolling(name: &str, table: &Markup) -> Markup {
    html! { div class="scroll" role="region" aria-label=(name) tabindex="0" { (table) } }
}

/// A note how much of a long list is not shown.
pub(super) fn rest(all: usize, shown: usize, what: &str) -> Markup {
    html! {
        @if all > shown {
            p class="note" { (words::grouped((all - shown) as u64)) " more " (what) " with --json." }
        }
    }
}

/// A path that may break after each of its segments.
pub(super) fn path(path: &str) -> Markup {
    let path = visible(path);
    html! {
        code {
            @for (index, segment) in path.split('/').enumerate() {
                @if index > 0 { "/" (PreEscaped("<wbr/>")) }
                (segment)
            }
        }
    }
}
