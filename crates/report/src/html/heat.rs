//! A heat map as a table whose cells have colours: its numbers are read, copied
//! and spoken as those of any table.

use maud::{Markup, html};

use crate::heat::{Cell, HeatMap};
use crate::html::place::Place;
use crate::html::tables::{rest, scrolling};
use crate::words;

/// All maps of a subject, as many beside each other as there is room for.
pub(super) fn figures(maps: &[HeatMap], left_out: usize, place: &Place) -> Option<Markup> {
    (!maps.is_empty()).then(|| {
        html! {
            div class="maps" { @for map in maps { (figure(map, place)) } }
            (rest(maps.len() + left_out, maps.len(), "heat maps"))
        }
    })
}

/// A map, with what its colours mean.
fn figure(map: &HeatMap, place: &Place) -> Markup {
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
            figcaption { (place.subheading(&map.title)) }
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
