//! The machine of a run.

use maud::{Markup, html};
use unjank_measure::RunRecord;

use crate::html::outline::Outline;
use crate::machine;
use crate::visible::visible;

/// The machine's description, and what could not be read.
pub(super) fn section(record: &RunRecord, outline: &Outline) -> Markup {
    let entries = machine::entries(&record.host);
    let body = html! {
        @if entries.is_empty() && record.host.unsupported.is_empty() {
            p class="muted" { "The record does not describe the machine." }
        }
        dl class="facts" {
            @for (name, lines) in entries {
                div {
                    dt { (name) }
                    @for line in lines { dd { (line) } }
                }
            }
            @for missing in &record.host.unsupported {
                div {
                    dt { (visible(&missing.what)) }
                    dd class="muted" { "n/a (" (visible(&missing.reason)) ")" }
                }
            }
        }
    };
    outline.section("machine", &html! { "Machine" }, &body)
}
