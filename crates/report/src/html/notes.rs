//! What was changed, what to be careful about, what is missing, and how the
//! numbers were taken.

use maud::{Markup, html};
use unjank_measure::RunRecord;

use crate::html::place::Place;
use crate::html::tables::{path, rest, scrolling};
use crate::visible::visible;
use crate::words::{self, PutBack};

/// Lines of one list.
const ROWS: usize = 200;

/// What was changed for the time of the run, and whether it was put back.
pub(super) fn changes(record: &RunRecord, place: &Place) -> Markup {
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
    place.section("changes", &html! { "Changed for the run" }, &body)
}

/// What a reader must know to read the numbers right.
pub(super) fn warnings(record: &RunRecord, place: &Place) -> Markup {
    let warnings = &record.findings.warnings;
    if warnings.is_empty() {
        return html! {};
    }
    let body = html! {
        ul class="warnings" { @for warning in warnings.iter().take(ROWS) { li { (visible(warning)) } } }
        (rest(warnings.len(), ROWS, "warnings"))
    };
    place.section("warnings", &html! { "Warnings" }, &body)
}

/// What could not be measured, and why.
pub(super) fn unsupported(record: &RunRecord, place: &Place) -> Markup {
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
    place.section("unsupported", &html! { "Not measured" }, &body)
}

/// Every option with the value it had.
pub(super) fn settings(record: &RunRecord, place: &Place) -> Markup {
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
    place.section("settings", &html! { "Settings" }, &body)
}

/// How to read the page, and where its numbers come from.
pub(super) fn method(record: &RunRecord, place: &Place) -> Markup {
    let tool = &record.tool;
    let body = html! {
        p {
            "Intervals are 95 % intervals. Those of quantiles come from order statistics: they assume nothing "
            "about the shape of a distribution, but that samples do not depend on each other; a quantile that so many samples cannot bound has none. "
            "Quantiles are exact to three digits, " i { "min" } " and " i { "max" } " exact; n is the number of samples. "
            "A missed period is one in which no sample could be taken, because the one before was late. "
            "An answer is healthy or slow if the whole interval lies on that side of the limit, else cannot tell. "
            "Percentile axes give each nine the same room."
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
    place.section("method", &html! { "Method" }, &body)
}
