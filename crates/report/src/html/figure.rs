//! A chart with its caption.

use maud::{Markup, Render, html};

use crate::chart::{Chart, Paper, svg};
use crate::html::outline::Outline;

/// A drawn chart.
pub(super) struct Figure {
    pub(super) title: String,
    caption: Markup,
    /// For paper of each width that the page has.
    drawn: Vec<Markup>,
    /// For a file of its own.
    pub(super) picture: Markup,
}

impl Render for Figure {
    fn render(&self) -> Markup {
        let class = (self.drawn.len() > 1).then_some("wide");
        html! { figure class=[class] { (self.caption) @for drawing in &self.drawn { (drawing) } } }
    }
}

/// A chart over the whole width, drawn for wide and for narrow screens; the style sheet
/// shows the one that fits.
pub(super) fn wide_figure(chart: &dyn Chart, title: &str, note: &str, outline: &Outline) -> Figure {
    let wide = svg(chart, Paper::WIDE, "chart at-desk");
    let narrow = svg(chart, Paper::NARROW, "chart at-phone");
    of(chart, title, note, outline, vec![wide, narrow])
}

/// A chart beside others.
pub(super) fn figure(chart: &dyn Chart, title: &str, note: &str, outline: &Outline) -> Figure {
    of(chart, title, note, outline, vec![svg(chart, Paper::NARROW, "chart")])
}

fn of(chart: &dyn Chart, title: &str, note: &str, outline: &Outline, drawn: Vec<Markup>) -> Figure {
    let picture = svg(chart, Paper::DOCUMENT, "chart");
    let caption = html! {
        figcaption {
            (outline.subheading(title))
            @if !note.is_empty() { p { (note) } }
        }
    };
    Figure { title: title.to_owned(), caption, drawn, picture }
}
