//! A chart with its caption.

use maud::{Markup, html};

use crate::chart::{Chart, Paper, svg};
use crate::html::outline::Outline;

/// A chart over the whole width, drawn for wide and for narrow screens; the style sheet
/// shows the one that fits.
pub(super) fn wide_figure(chart: &dyn Chart, title: &str, note: &str, outline: &Outline) -> Markup {
    html! {
        figure class="wide" {
            (caption(title, note, outline))
            (svg(chart, Paper::WIDE, "chart at-desk"))
            (svg(chart, Paper::NARROW, "chart at-phone"))
        }
    }
}

/// A chart beside others.
pub(super) fn figure(chart: &dyn Chart, title: &str, note: &str, outline: &Outline) -> Markup {
    html! {
        figure {
            (caption(title, note, outline))
            (svg(chart, Paper::NARROW, "chart"))
        }
    }
}

fn caption(title: &str, note: &str, outline: &Outline) -> Markup {
    html! {
        figcaption {
            (outline.subheading(title))
            @if !note.is_empty() { p { (note) } }
        }
    }
}
