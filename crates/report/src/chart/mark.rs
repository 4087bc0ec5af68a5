//! Shapes that distinguish lines without colour.

use maud::{Markup, html};

use crate::chart::path::{Coordinates, number};

/// The most lines of one chart: the number of shapes, and of colours in the style
/// sheet.
pub(crate) const LINES: usize = 6;

/// The mark of line `index`: circle, square, triangle, diamond, triangle on
/// its tip, cross.
pub(crate) fn mark(index: usize, [x, y]: Coordinates, radius: f64) -> Markup {
    let data = match index % LINES {
        0 => {
            let (r, d) = (number(radius), number(2.0 * radius));
            format!(
                "M{},{}a{r},{r} 0 1 0 {d},0a{r},{r} 0 1 0 -{d},0Z",
                number(x - radius),
                number(y)
            )
        }
        1 => polygon([x, y], radius * 0.9, &[[-1.0, -1.0], [1.0, -1.0], [1.0, 1.0], [-1.0, 1.0]]),
        2 => polygon([x, y], radius * 1.2, &[[0.0, -1.0], [1.0, 0.8], [-1.0, 0.8]]),
        3 => polygon([x, y], radius * 1.25, &[[0.0, -1.0], [1.0, 0.0], [0.0, 1.0], [-1.0, 0.0]]),
        4 => polygon([x, y], radius * 1.2, &[[0.0, 1.0], [1.0, -0.8], [-1.0, -0.8]]),
        _ => {
            let (a, b) = (0.35, 1.15);
            polygon(
                [x, y],
                radius,
                &[
                    [-a, -b],
                    [a, -b],
                    [a, -a],
                    [b, -a],
                    [b, a],
                    [a, a],
                    [a, b],
                    [-a, b],
                    [-a, a],
                    [-b, a],
                    [-b, -a],
                    [-a, -a],
                ],
            )
        }
    };
    html! { path class="mark" d=(data) {} }
}

/// The mark of line `index`, with the text that a browser shows while the pointer is on it.
pub(crate) fn with_tooltip(index: usize, at: Coordinates, radius: f64, text: &str) -> Markup {
    html! { g { title { (text) } (mark(index, at, radius)) } }
}

fn polygon([x, y]: Coordinates, radius: f64, corners: &[Coordinates]) -> String {
    let places: Vec<String> = corners
        .iter()
        .map(|[dx, dy]| format!("{},{}", number(x + dx * radius), number(y + dy * radius)))
        .collect();
    format!("M{}Z", places.join(" "))
}
