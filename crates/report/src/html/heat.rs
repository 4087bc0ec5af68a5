//! A heat map as a table with coloured cells: its numbers can be read, copied and spoken
//! like those of any table.

use maud::{Markup, html};

use crate::heat::{Cell, HeatMap};
use crate::html::outline::Outline;
use crate::html::tables::{rest, scrolling};
use crate::words;

/// All maps of a subject, as many side by side as fit.
pub(super) fn figures(maps: &[HeatMap], left_out: usize, outline: &Outline) -> Option<Markup> {
    (!maps.is_empty()).then(|| {
        html! {
            div class="maps" { @for map in maps { (figure(map, outline)) } }
            (rest(maps.len() + left_out, maps.len(), "heat maps"))
        }
    })
}

/// A map with its key of colours.
fn figure(map: &HeatMap, outline: &Outline) -> Markup {
    let table = html! {
        table class="heat" {
            caption { span { (map.about("has a frame")) } }
            thead { tr {
                th scope="col" { (map.down) }
                @for head in map.heads() { th scope="col" class="n" { (head) } }
            } }
            tbody {
                @for row in &map.rows {
                    tr {
                        th scope="row" { (row.name) }
                        @for cell in &row.cells { (self::cell(map, cell.as_ref())) }
                    }
                }
            }
        }
    };
    html! {
        figure class="map" {
            figcaption { (outline.subheading(&map.title)) }
            div {
                (scrolling(&map.title, &table))
                ul class="steps" aria-label="Colours" {
                    @for (step, values) in map.steps().iter().enumerate() {
                        li class={ "n m" (step) } { (values) }
                    }
                }
            }
        }
    }
}

fn cell(map: &HeatMap, cell: Option<&Cell>) -> Markup {
    let Some(cell) = cell else { return html! { td class="n" {} } };
    let value = words::value(map.unit(), cell.value);
    html! {
        td class={ "n m" (cell.step) @if cell.best { " best" } } {
            @if cell.best { strong { (value) } } @else { (value) }
            @if let Some(interval) = cell.interval {
                span class="under" { (words::interval(map.unit(), interval)) }
            }
        }
    }
}
