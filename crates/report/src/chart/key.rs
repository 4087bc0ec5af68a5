//! The key above a chart: names with their marks.

use maud::{Markup, html};

use crate::chart::mark::{LINES, mark};
use crate::chart::path::number;
use crate::chart::plot::{CHARACTER, Paper, fitted};

/// The height of a line.
const LINE: f64 = 17.0;

/// Names with their marks, in as many lines as they need.
#[derive(Debug)]
pub(crate) struct Key<'a> {
    /// Each name with its horizontal position and its line.
    places: Vec<(&'a str, f64, f64)>,
    width: f64,
}

impl<'a> Key<'a> {
    /// The key to `names`, at most [`LINES`] of them.
    pub(crate) fn new(names: &'a [String], paper: Paper) -> Self {
        let (mut x, mut line) = (0.0, 0.0);
        let mut places = Vec::new();
        for name in names.iter().take(LINES) {
            let width = name.chars().count() as f64 * CHARACTER + 32.0;
            if x > 0.0 && x + width > paper.width {
                (x, line) = (0.0, line + 1.0);
            }
            places.push((name.as_str(), x, line));
            x += width;
        }
        Self { places, width: paper.width }
    }

    pub(crate) fn height(&self) -> f64 {
        self.places.last().map_or(0.0, |(_, _, line)| (line + 1.0) * LINE)
    }

    /// The key at the upper edge of the paper.
    pub(crate) fn draw(&self) -> Markup {
        html! {
            @for (index, (name, x, line)) in self.places.iter().enumerate() {
                @let at = line * LINE + 8.0;
                g class={ "s" (index % LINES + 1) } {
                    (mark(index, [x + 6.0, at], 4.0))
                    text x=(number(x + 15.0)) y=(number(at + 4.0)) {
                        (fitted(name, self.width - x - 15.0))
                    }
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_that_do_not_fit_begin_a_line() {
        let names = ["a".repeat(20), "b".repeat(20), "c".repeat(90), "d".to_owned()];
        let key = Key::new(&names, Paper::NARROW);
        let lines: Vec<f64> = key.places.iter().map(|(_, _, line)| *line).collect();
        assert_eq!(lines, [0.0, 1.0, 2.0, 3.0]);
        assert!((key.height() - 4.0 * LINE).abs() < 1e-9);
        let many = vec![String::new(); LINES + 3];
        assert_eq!(Key::new(&many, Paper::WIDE).places.len(), LINES);
        assert!(Key::new(&[], Paper::WIDE).height().abs() < 1e-9);
    }
}
