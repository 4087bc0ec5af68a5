//! The tables of a record, each in its view.

use maud::{Markup, html};
use unjank_measure::{Cell, RunRecord, Table};

use crate::html::outline::Outline;
use crate::html::tables::{rest, scrolling};
use crate::html::timeline;
use crate::table::{Bar, bars, drawn, heading, is_numeric, text, used};
use crate::views::{View, view};
use crate::visible::visible;

/// The most rows of one table; the rest is in the record.
const ROWS: usize = 500;

/// A section for each table that has rows.
pub(super) fn sections(record: &RunRecord, outline: &Outline) -> Markup {
    html! { @for (number, table) in drawn(record).enumerate() { (section(table, number, record, outline)) } }
}

/// The timelines, each with its title.
pub(super) fn timelines(record: &RunRecord) -> Vec<(String, Markup)> {
    let is_timeline = |table: &&Table| matches!(view(table), View::Timeline);
    let picture = |table: &Table| {
        let title = visible(&table.title).into_owned();
        let drawing = timeline::picture(table, record, &title)?;
        Some((title, drawing))
    };
    drawn(record).filter(is_timeline).filter_map(picture).collect()
}

fn section(table: &Table, number: usize, record: &RunRecord, outline: &Outline) -> Markup {
    let body = match view(table) {
        View::Rows | View::Matrix | View::Data => rows(table),
        View::Cards => cards(table, outline),
        View::Bars => bar_list(table),
        View::Timeline => timeline::section(table, record, &visible(&table.title)),
    };
    let body = html! {
        (body)
        @for note in &table.notes { p class="note" { (visible(note)) } }
    };
    outline.section(&format!("table-{}", number + 1), &html! { (visible(&table.title)) }, &body)
}

/// Columns that fit beside each other on a phone. Rows of more are shown one value below the
/// other there; the roles say that they are a table nevertheless.
const COLUMNS_OF_PHONES: usize = 3;
/// Columns that fit beside each other on a desk at the usual size of letters.
const COLUMNS_OF_DESKS: usize = 10;

fn rows(table: &Table) -> Markup {
    let used = used(table);
    let class = |at: usize| is_numeric(&table.columns[at]).then_some("n");
    let stacks = used.len() > COLUMNS_OF_PHONES;
    let is_crowded = used.len() > COLUMNS_OF_DESKS;
    let row = |row: &Vec<Cell>| {
        html! {
            tr role="row" {
                @for (place, &at) in used.iter().enumerate() {
                    @if place == 0 {
                        th scope="row" role="rowheader" class=[class(at)] { (text(table, row, at)) }
                    } @else {
                        td role="cell" class=[class(at).or(Some("text"))] data-label=(heading(table, at)) {
                            (text(table, row, at))
                        }
                    }
                }
            }
        }
    };
    scrolling(
        &visible(&table.title),
        &html! {
            table role="table" class={ "dense" @if stacks { " stack" } @if is_crowded { " crowded" } } {
                thead role="rowgroup" {
                    tr role="row" {
                        @for &at in &used {
                            th scope="col" role="columnheader" class=[class(at)] { (heading(table, at)) }
                        }
                    }
                }
                tbody role="rowgroup" { @for it in table.rows.iter().take(ROWS) { (row(it)) } }
            }
            (rest(table.rows.len(), ROWS, "rows"))
        },
    )
}

/// A heading and a list of names and texts for each row.
fn cards(table: &Table, outline: &Outline) -> Markup {
    let used = used(table);
    html! {
        @for row in table.rows.iter().take(ROWS) {
            (outline.subheading(&text(table, row, 0)))
            dl class="card" {
                @for &at in used.iter().skip(1) {
                    @let cell = text(table, row, at);
                    @if !cell.is_empty() {
                        dt { (heading(table, at)) }
                        dd { (cell) }
                    }
                }
            }
        }
        (rest(table.rows.len(), ROWS, "rows"))
    }
}

fn bar_list(table: &Table) -> Markup {
    let width = |share: f64| format!("{:.1}", share * 100.0);
    let bar = |bar: Bar| {
        html! {
            tr {
                th scope="row" { (bar.label) }
                td {
                    svg class="bar" viewBox="0 0 100 4" preserveAspectRatio="none" role="img" aria-label=(bar.value) {
                        rect class="rest" width=(width(bar.whole)) height="4" {}
                        rect class="part" width=(width(bar.filled)) height="4" {}
                    }
                }
                td class="n" { (bar.value) }
            }
        }
    };
    scrolling(
        &visible(&table.title),
        &html! { table class="dense bars" { tbody { @for it in bars(table) { (bar(it)) } } } },
    )
}

#[cfg(test)]
mod tests {
    use unjank_measure::{Column, Unit};

    use super::*;

    #[test]
    fn rows_of_many_columns_name_their_values_on_phones() {
        let html = |columns: usize| {
            let names = (0..columns).map(|n| Column::of(format!("column {n}"), Unit::Count));
            let cells = (0..columns).map(|n| Cell::number(n as f64));
            let columns: Vec<Column> = names.collect();
            rows(&Table::new("a/b", "Title", columns).with_rows([cells])).into_string()
        };
        let [few, many] = [html(3), html(4)];
        assert!(few.contains("class=\"dense\"") && many.contains("class=\"dense stack\""));
        assert!(many.contains("data-label=\"column 3\""), "{many}");
        assert_eq!(many.matches("role=\"cell\"").count(), 3, "the first is the row's heading");
    }
}
