//! Title, headline, labels and contents of the page.

use maud::{Markup, html};
use unjank_measure::RunRecord;

use crate::headline::headline;
use crate::machine;
use crate::visible::visible;
use crate::words;

/// The head of a page about one run.
pub(super) fn of_one(record: &RunRecord) -> Markup {
    html! {
        header {
            h1 { span { span class="tool" { "unjank " } (visible(&record.command)) } (labels(record)) }
            p class="answer" { (headline(std::slice::from_ref(record))) }
            (about(record))
            (label_notes(record))
            (contents(record))
        }
    }
}

/// The head of a page about several runs, with one line for each.
pub(super) fn of_several(records: &[RunRecord], title: &str) -> Markup {
    html! {
        header {
            h1 { span { span class="tool" { "unjank " } (title) } }
            p class="answer" { (headline(records)) }
            @if !records.is_empty() {
                ol class="runs" {
                    @for (index, record) in records.iter().enumerate() {
                        li {
                            a href={ "#run-" (index + 1) } { (visible(&record.command)) }
                            " " (labels(record)) " "
                            span class="muted" { (visible(&record.started_at)) ", " (visible(&record.id)) }
                        }
                    }
                }
            }
        }
    }
}

/// The head of one of several runs.
pub(super) fn of_article(record: &RunRecord, number: usize) -> Markup {
    html! {
        header class="run" {
            h2 {
                span { span class="tool" { (number) " unjank " } (visible(&record.command)) }
                (labels(record))
            }
            p class="answer" { (headline(std::slice::from_ref(record))) }
            (about(record))
            (label_notes(record))
        }
    }
}

/// The labels, next to the title.
fn labels(record: &RunRecord) -> Markup {
    html! { @for label in &record.labels { " " span class="badge" { (visible(label)) } } }
}

/// The meanings of the labels.
fn label_notes(record: &RunRecord) -> Markup {
    html! {
        @for label in &record.labels {
            @if let Some(meaning) = words::label_meaning(label) {
                p class="label-note" { strong { (visible(label)) } ": " (meaning) "." }
            }
        }
    }
}

/// Machine, time and length.
fn about(record: &RunRecord) -> Markup {
    html! {
        p class="about" {
            @if let Some(machine) = machine::in_brief(&record.host) { (machine) " · " }
            time { (visible(&record.started_at)) }
            " · took " (words::duration(record.elapsed))
        }
    }
}

/// Links to the sections that are long or easily missed.
fn contents(record: &RunRecord) -> Markup {
    let findings = &record.findings;
    let links = [
        ("series", "Series", findings.series.len()),
        ("worst", "Worst samples", findings.outliers.len()),
        ("facts", "Facts", findings.facts.len()),
        ("changes", "Changes", findings.changes.len()),
        ("warnings", "Warnings", findings.warnings.len()),
        ("unsupported", "Not measured", findings.unsupported.len()),
        ("machine", "Machine", 0),
        ("method", "Method", 0),
    ];
    html! {
        nav aria-label="On this page" {
            ul {
                @for (id, name, number) in links {
                    @if number > 0 || matches!(id, "machine" | "method") {
                        li {
                            a href={ "#" (id) } { (name) }
                            @if number > 0 { " " span class="count" { (number) } }
                        }
                    }
                }
            }
        }
    }
}
