//! A chart with its caption.

use maud::{Markup, html};

use crate::chart::{Chart, Paper, svg};
use crate::html::place::Place;

/// A chart over the whole width, drawn once for a desk and once for a phone;
/// the style sheet shows the one that fits.
pub(super) fn wide_figure(chart: &dyn Chart, title: &str, note: &str, place: &Place) -> Markup {
    html! {
        figure class="wide" {
            (caption(title, note, place))
            (svg(chart, Paper::WIDE, "chart at-desk"))
            (svg(chart, Paper::NARROW, "chart at-phone"))
        }
    }
}

/// A chart that stands beside others.
pub(super) fn figure(chart: &dyn Chart, title: &str, note: &str, place: &Place) -> Markup {
    html! {
        figure {
            (caption(title, note, place))
            (svg(chart, Paper::NARROW, "chart"))
        }
    }
}

fn caption(title: &str, note: &str, place: &Place) -> Markup {
    html! {
        figcaption {
            (place.subheading(title))
            @if !note.is_empty() { p { (note) } }
        }
    }
}
