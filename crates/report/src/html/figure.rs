//! A chart with its caption.

use maud::{Markup, Render, html};

use crate::chart::{Chart, Paper, svg};
use crate::html::outline::Outline;
use crate::title::Title;

/// A chart, drawn where it is shown.
pub(super) struct Figure {
    pub(super) title: Title,
    caption: Markup,
    chart: Box<dyn Chart>,
    /// Over the whole width of the page.
    wide: bool,
}

impl Figure {
    /// Drawn for a file of its own.
    pub(super) fn picture(&self) -> Markup {
        svg(&*self.chart, Paper::DOCUMENT, "chart")
    }
}

impl Render for Figure {
    /// A wide chart is drawn for wide and for narrow screens; the style sheet shows the one that
    /// fits.
    fn render(&self) -> Markup {
        let chart = &*self.chart;
        html! {
            figure class=[self.wide.then_some("wide")] {
                (self.caption)
                @if self.wide {
                    (svg(chart, Paper::WIDE, "chart at-desk"))
                    (svg(chart, Paper::NARROW, "chart at-phone"))
                } @else {
                    (svg(chart, Paper::NARROW, "chart"))
                }
            }
        }
    }
}

/// A chart over the whole width.
pub(super) fn wide_figure(
    chart: Box<dyn Chart>,
    title: Title,
    note: &str,
    outline: &Outline,
) -> Figure {
    Figure { wide: true, ..figure(chart, title, note, outline) }
}

/// A chart beside others.
pub(super) fn figure(chart: Box<dyn Chart>, title: Title, note: &str, outline: &Outline) -> Figure {
    let caption = html! {
        figcaption {
            (outline.subheading(&title.heading()))
            p {
                code { (title.path) }
                @if !note.is_empty() { ": " (note) }
            }
        }
    };
    Figure { title, caption, chart, wide: false }
}
