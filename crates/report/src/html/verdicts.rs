//! Questions and answers.

use maud::{Markup, html};
use unjank_measure::{RunRecord, Verdict};

use crate::chart::Domain;
use crate::chart::strip::{self, Strip};
use crate::chart::svg;
use crate::delay;
use crate::headline::headline;
use crate::html::outline::Outline;
use crate::tone;
use crate::visible::visible;
use crate::words;

/// The most verdicts on one page; a comparison of two runs may have one per series.
const VERDICTS: usize = 200;

/// One row per verdict.
pub(super) fn section(record: &RunRecord, outline: &Outline) -> Markup {
    let verdicts = &record.findings.verdicts;
    if verdicts.is_empty() {
        return html! {};
    }
    let shared = strip::shared_domain(verdicts.iter());
    let headline = headline(std::slice::from_ref(record));
    let body = html! {
        @for verdict in verdicts.iter().take(VERDICTS) { (row(verdict, &headline, shared, outline)) }
        (super::tables::rest(verdicts.len(), VERDICTS, "verdicts"))
    };
    outline.section("answers", &html! { "Answers" }, &body)
}

fn row(verdict: &Verdict, headline: &str, shared: Domain, outline: &Outline) -> Markup {
    let reason = words::sentence(&verdict.reason);
    html! {
        div class={ "verdict " (strip::class_of(verdict.answer)) } {
            div class="said" {
                p class="kicker" {
                    span class="word" { (tone::symbol(verdict.answer)) " " (verdict.answer.words()) }
                    span class="subject" { (visible(&verdict.subject)) }
                    @if let Some(meaning) = delay::meaning(&verdict.subject) {
                        span class="meaning" { (meaning) }
                    }
                }
                (outline.subheading(&visible(&verdict.question)))
                @if reason != headline { p class="reason" { (reason) } }
                @if let Some(next) = &verdict.next {
                    p class="next" { "Next " code { (visible(next)) } }
                }
            }
            div class="seen" {
                (quantities(verdict))
                @if let Some(strip) = Strip::of(verdict, shared) { (svg(&strip, strip::PAPER, "strip")) }
                (bounds(verdict))
            }
        }
    }
}

/// The measured quantity, or the difference.
fn quantities(verdict: &Verdict) -> Markup {
    html! {
        @if let Some(measured) = &verdict.measured {
            p class="value" {
                strong { (words::value(measured.unit, measured.value)) }
                @if let Some(known) = words::known_of(measured) {
                    span class="interval" { (known) }
                }
            }
            p class="what" { (visible(&measured.name)) ", " span class="whole" { "n " (words::grouped(measured.n)) } }
        }
        @if let Some(effect) = &verdict.effect {
            p class="value" {
                strong { (words::value(effect.unit, effect.value)) }
                @if let Some(known) = words::known_of(effect) {
                    span class="interval" { (known) }
                }
            }
            p class="what" { (visible(&effect.name)) ", " span class="whole" { "n " (words::grouped(effect.n)) } }
        }
    }
}

/// The healthy range and its source, or the smallest detectable difference.
fn bounds(verdict: &Verdict) -> Markup {
    html! {
        @if let (Some(healthy), Some(bound)) = (words::healthy(verdict), &verdict.healthy) {
            p class="bound" { "Healthy " strong { (healthy) } ": " (visible(&bound.source)) }
        }
        @if let Some(smallest) = words::minimum_effect(verdict) {
            p class="bound" { "A difference is " (smallest) " with this number of samples" }
        }
    }
}
