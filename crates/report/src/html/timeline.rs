//! A critical path over time: the drawing, its key, closer views, and its text.

use maud::{Markup, html};
use unjank_measure::{RunRecord, Table, Unit};

use crate::chart::timeline::Chronicle;
use crate::chart::{Paper, svg};
use crate::html::tables::{rest, scrolling};
use crate::timeline::{Piece, Timeline};
use crate::words;

/// The pieces from which on there are closer views, and about as many as each shows.
const CLOSER: usize = 60;
/// The most closer views.
const VIEWS: usize = 8;
/// The most rows of text.
const ROWS: usize = 500;

/// The whole path on wide paper.
pub(super) fn picture(table: &Table, record: &RunRecord, title: &str) -> Option<Markup> {
    let timeline = Timeline::of(table, record);
    let whole = Chronicle::of(title.to_owned(), &timeline, [0.0, timeline.end()])?;
    Some(svg(&whole, Paper::WIDE, "chart"))
}

/// The path, from its start to its end.
pub(super) fn section(table: &Table, record: &RunRecord, title: &str) -> Markup {
    let timeline = Timeline::of(table, record);
    let end = timeline.end();
    let Some(whole) = Chronicle::of(title.to_owned(), &timeline, [0.0, end]) else {
        return html! {};
    };
    let time = |time: f64| words::value(Unit::Nanoseconds, time);
    let views = (timeline.pieces.len() / CLOSER).min(VIEWS);
    let closer = (0..views.max(2)).filter_map(|view| {
        let ends = [view, view + 1].map(|at| end * at as f64 / views.max(2) as f64);
        let name = format!("{} to {}", time(ends[0]), time(ends[1]));
        Some((name.clone(), Chronicle::of(format!("{title}, {name}"), &timeline, ends)?))
    });
    html! {
        (key(&timeline, end))
        figure class="timeline" {
            (svg(&whole, Paper::WIDE, "chart at-desk"))
            (svg(&whole, Paper::NARROW, "chart at-phone"))
        }
        p class="note" {
            "A high bar had a CPU, a low one waited. Thin lines are wake-ups: the path goes from a "
            "thread to the one that it waited for. Point at a bar for more."
        }
        @if views > 0 {
            details {
                summary { "Closer: the same in " (views.max(2)) " parts" }
                @for (name, part) in closer {
                    p class="note" { (name) }
                    (svg(&part, Paper::WIDE, "chart at-desk"))
                    (svg(&part, Paper::NARROW, "chart at-phone"))
                }
            }
        }
        details {
            summary { "As text: " (words::counted(timeline.pieces.len(), "piece", "pieces")) }
            (text(&timeline, title))
        }
    }
}

/// The activities with their colours, times and shares.
fn key(timeline: &Timeline, end: f64) -> Markup {
    html! {
        ul class="activities" aria-label="Activities" {
            @for (activity, time) in timeline.sums() {
                li {
                    span class={ "swatch a-" (activity.name()) } {}
                    strong { (activity.name()) } " "
                    span class="n" { (words::value(Unit::Nanoseconds, time)) }
                    span class="muted" { " " (share(time / end)) ", " (activity.meaning()) }
                }
            }
        }
    }
}

fn share(share: f64) -> String {
    if share < 0.005 { "<1 %".to_owned() } else { format!("{:.0} %", 100.0 * share) }
}

/// Each piece as a row.
fn text(timeline: &Timeline, title: &str) -> Markup {
    let time = |time: f64| words::value(Unit::Nanoseconds, time);
    let row = |piece: &Piece| {
        html! {
            tr {
                th scope="row" class="n" { (time(piece.from)) }
                td class="n" { (time(piece.time)) }
                td { (piece.thread) @if piece.others > 0 { " and " (piece.others) " more" } }
                td { (piece.activity.name()) }
                td class="text" { (piece.detail) }
                td class="n" { @if let Some(cpu) = piece.cpu { (cpu) } }
                td { (piece.way) }
                td { (piece.evidence) }
            }
        }
    };
    let heads = [
        ("after", true),
        ("time", true),
        ("thread", false),
        ("activity", false),
        ("detail", false),
        ("CPU", true),
        ("way", false),
        ("evidence", false),
    ];
    scrolling(
        title,
        &html! {
            table class="dense" {
                caption { span { "In order of time" } }
                thead { tr {
                    @for (name, number) in heads { th scope="col" class=[number.then_some("n")] { (name) } }
                } }
                tbody { @for piece in timeline.pieces.iter().take(ROWS) { (row(piece)) } }
            }
            (rest(timeline.pieces.len(), ROWS, "pieces"))
        },
    )
}
