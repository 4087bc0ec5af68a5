//! Changes, warnings, missing measurements, settings and method.

use maud::{Markup, html};
use unjank_measure::RunRecord;

use crate::html::outline::Outline;
use crate::html::tables::{path, rest, scrolling};
use crate::visible::visible;
use crate::words::{self, PutBack};

/// The most lines of one list.
const ROWS: usize = 200;

/// Changes for the time of the run, and whether they were put back.
pub(super) fn changes(record: &RunRecord, outline: &Outline) -> Markup {
    let changes = &record.findings.changes;
    if changes.is_empty() {
        return html! {};
    }
    let body = scrolling(
        "Changes",
        &html! {
            table class="dense" {
                caption { span { "What was changed on the machine for the time of the run." } }
                thead { tr {
                    @for name in ["What", "Before", "During", "After"] { th scope="col" { (name) } }
                } }
                tbody {
                    @for change in changes.iter().take(ROWS) {
                        tr {
                            th scope="row" { (path(&change.knob)) }
                            td class="text" { (visible(&change.before)) }
                            td class="text" { (visible(&change.during)) }
                            @let put_back = words::put_back(change);
                            td class={ "text" @if put_back != PutBack::Yes { " doubtful" } } {
                                (put_back.words(change))
                            }
                        }
                    }
                }
            }
            (rest(changes.len(), ROWS, "changes"))
        },
    );
    outline.section("changes", &html! { "Changed for the run" }, &body)
}

/// The warnings of a record.
pub(super) fn warnings(record: &RunRecord, outline: &Outline) -> Markup {
    let warnings = &record.findings.warnings;
    if warnings.is_empty() {
        return html! {};
    }
    let body = html! {
        ul class="warnings" { @for warning in warnings.iter().take(ROWS) { li { (visible(warning)) } } }
        (rest(warnings.len(), ROWS, "warnings"))
    };
    outline.section("warnings", &html! { "Warnings" }, &body)
}

/// Missing measurements with their reasons.
pub(super) fn unsupported(record: &RunRecord, outline: &Outline) -> Markup {
    let unsupported = &record.findings.unsupported;
    if unsupported.is_empty() {
        return html! {};
    }
    let body = html! {
        dl class="facts" {
            @for missing in unsupported.iter().take(ROWS) {
                div {
                    dt { (path(&missing.what)) }
                    dd { "n/a (" (visible(&missing.reason)) ")" }
                }
            }
        }
        (rest(unsupported.len(), ROWS, "reasons"))
    };
    outline.section("unsupported", &html! { "Not measured" }, &body)
}

/// Every option with its value.
pub(super) fn settings(record: &RunRecord, outline: &Outline) -> Markup {
    if record.settings.is_empty() {
        return html! {};
    }
    let body = html! {
        dl class="facts settings" {
            @for (name, value) in record.settings.iter().take(ROWS) {
                div {
                    dt { code { (visible(name)) } }
                    dd { code { (visible(&value.to_string())) } }
                }
            }
        }
    };
    outline.section("settings", &html! { "Settings" }, &body)
}

/// How to read the page, and the version of unjank.
pub(super) fn method(record: &RunRecord, outline: &Outline) -> Markup {
    let tool = &record.tool;
    let body = html! {
        p {
            "Intervals are 95 % intervals. Those of quantiles come from resampled starts or, within one start, from "
            "order statistics, which assume independent samples and nothing about the shape of the distribution. "
            "With too few samples, a quantile has none. "
            "Quantiles are exact to three digits, " i { "min" } " and " i { "max" } " exact; n is the number of samples. "
            "A missed period is one in which no sample could be taken, because the one before was late. "
            "An answer is healthy or slow if the whole interval lies on that side of the limit, otherwise cannot tell. "
            "On percentile axes, 90 %, 99 % and 99.9 % are equally far apart."
        }
        p class="muted" {
            "unjank " (visible(&tool.version))
            @if let Some(commit) = &tool.commit { ", commit " (visible(commit)) }
            "; run " (visible(&record.id))
            ", started " (visible(&record.started_at))
            ", took " (words::duration(record.elapsed))
            "; schema " (visible(&record.schema)) "."
        }
    };
    outline.section("method", &html! { "Method" }, &body)
}
