//! The paper, the area within the axes, and the axes.

use maud::{Markup, html};
use unjank_measure::Unit;

use crate::chart::path::number;
use crate::chart::scale::{Domain, Scale};
use crate::chart::tick_text::texts;
use crate::chart::ticks::{Round, ticks};

/// About the width of a character at the charts' text size.
pub(crate) const CHARACTER: f64 = 6.7;

/// The size of a drawing in CSS pixels. Text has the same size on all papers, so charts
/// for phones are drawn on a narrow one.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Paper {
    pub(crate) width: f64,
    pub(crate) height: f64,
}

impl Paper {
    /// The full width of the page on a desk.
    pub(crate) const WIDE: Self = Self { width: 1000.0, height: 360.0 };
    /// A phone, or one column of several.
    pub(crate) const NARROW: Self = Self { width: 320.0, height: 220.0 };
    /// A figure in a document.
    pub(crate) const DOCUMENT: Self = Self { width: 640.0, height: 320.0 };

    /// Whether details fit.
    pub(crate) fn is_wide(self) -> bool {
        self.width > 600.0
    }
}

/// The area within the axes.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Plot {
    pub(crate) left: f64,
    pub(crate) right: f64,
    pub(crate) top: f64,
    pub(crate) bottom: f64,
}

impl Plot {
    /// The scale of a horizontal axis.
    pub(crate) fn x(&self, domain: Domain) -> Scale {
        domain.onto(self.left, self.right)
    }

    /// The scale of a vertical axis.
    pub(crate) fn y(&self, domain: Domain) -> Scale {
        domain.onto(self.bottom, self.top)
    }
}

/// The marks of one axis.
#[derive(Debug, Clone)]
pub(crate) struct Axis {
    pub(crate) domain: Domain,
    pub(crate) ticks: Vec<f64>,
    pub(crate) texts: Vec<String>,
}

impl Axis {
    /// Round marks, about `most` of them.
    pub(crate) fn new(domain: Domain, unit: Unit, most: usize) -> Self {
        let ticks = ticks(domain, most, Round::of(unit));
        let texts = texts(unit, domain, &ticks);
        Self { domain, ticks, texts }
    }

    /// The width of the texts beside the axis.
    pub(crate) fn text_width(&self) -> f64 {
        let longest = self.texts.iter().map(|text| text.chars().count()).max().unwrap_or(0);
        longest as f64 * CHARACTER + 8.0
    }
}

/// Grid lines and texts of both axes.
pub(crate) fn axes(plot: &Plot, x: &Axis, y: &Axis) -> Markup {
    let (across, up) = (plot.x(x.domain), plot.y(y.domain));
    let shown = without_overlap(x, &across);
    html! {
        g class="grid" {
            @for tick in &y.ticks {
                @let at = number(up.at(*tick));
                line x1=(number(plot.left)) x2=(number(plot.right)) y1=(at) y2=(at) {}
            }
            @for tick in &x.ticks {
                @let at = number(across.at(*tick));
                line x1=(at) x2=(at) y1=(number(plot.top)) y2=(number(plot.bottom)) {}
            }
        }
        line class="base" x1=(number(plot.left)) x2=(number(plot.right))
            y1=(number(plot.bottom)) y2=(number(plot.bottom)) {}
        g class="ticks" {
            @for (tick, text) in y.ticks.iter().zip(&y.texts) {
                text x=(number(plot.left - 7.0)) y=(number(up.at(*tick) + 4.0)) text-anchor="end" { (text) }
            }
            @for (tick, text) in shown {
                text x=(number(across.at(tick))) y=(number(plot.bottom + 17.0)) text-anchor="middle" { (text) }
            }
        }
    }
}

/// The ticks whose texts do not overlap.
fn without_overlap<'a>(axis: &'a Axis, scale: &Scale) -> Vec<(f64, &'a str)> {
    let mut free_from = f64::NEG_INFINITY;
    let mut shown = Vec::new();
    let texts = axis.ticks.iter().zip(&axis.texts).filter(|(_, text)| !text.is_empty());
    for (tick, text) in texts {
        let half = text.chars().count() as f64 * CHARACTER / 2.0;
        let at = scale.at(*tick);
        if at - half >= free_from {
            shown.push((*tick, text.as_str()));
            free_from = at + half + 8.0;
        }
    }
    shown
}

/// `text` cut so that it fits into `width`.
pub(crate) fn fitted(text: &str, width: f64) -> String {
    let room = (width / CHARACTER).floor().max(2.0) as usize;
    if text.chars().count() <= room {
        return text.to_owned();
    }
    text.chars().take(room - 1).chain(['…']).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn crowded_texts_are_left_out() {
        let axis = Axis::new(Domain::linear(0.0, 1e9), Unit::Nanoseconds, 10);
        let wide = without_overlap(&axis, &axis.domain.onto(0.0, 900.0));
        let narrow = without_overlap(&axis, &axis.domain.onto(0.0, 200.0));
        assert_eq!(wide.len(), axis.ticks.len());
        assert!(narrow.len() < wide.len());
        assert_eq!(narrow[0].1, "0");
    }

    #[test]
    fn long_labels_end_in_dots() {
        assert_eq!(fitted("binder", 100.0), "binder");
        assert_eq!(fitted("a/very/long/name", 60.0), "a/very/…");
    }
}
