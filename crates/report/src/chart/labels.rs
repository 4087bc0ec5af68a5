//! Names at the ends of lines, instead of a legend.

use maud::{Markup, html};

use crate::chart::declutter::spread;
use crate::chart::mark::{LINES, mark};
use crate::chart::path::{Coordinates, number};
use crate::chart::plot::{CHARACTER, Paper, Plot, fitted};

/// The distance between two labels.
const LINE_HEIGHT: f64 = 15.0;

/// The room to leave at the right for labels of these names.
pub(crate) fn room<'a>(names: impl Iterator<Item = &'a str>, paper: Paper) -> f64 {
    let longest = names.map(|name| name.chars().count()).max().unwrap_or(0);
    if longest == 0 {
        return 10.0;
    }
    (longest as f64 * CHARACTER + 26.0).min(paper.width * 0.34)
}

/// Labels at the right of `plot`, each as near as possible to the end of its line and
/// joined to it by a thin leader.
pub(crate) fn labels(plot: &Plot, paper: Paper, ends: &[(&str, Coordinates)]) -> Markup {
    let wanted: Vec<f64> = ends.iter().map(|(_, [_, y])| *y).collect();
    let places = spread(&wanted, LINE_HEIGHT, plot.top + 4.0, plot.bottom - 4.0);
    let at = plot.right + 14.0;
    html! {
        @for (index, ((name, [x, y]), place)) in ends.iter().zip(places).enumerate() {
            g class={ "label s" (index % LINES + 1) } {
                @if !name.is_empty() {
                    @let bend = plot.right + 4.0;
                    path class="leader" d={
                        "M" (number(*x)) "," (number(*y))
                        " " (number(bend.max(*x))) "," (number(*y))
                        " " (number(at - 5.0)) "," (number(place))
                    } {}
                    (mark(index, [at, place], 3.6))
                    text x=(number(at + 8.0)) y=(number(place + 4.0)) {
                        (fitted(name, paper.width - at - 8.0))
                    }
                }
            }
        }
    }
}
