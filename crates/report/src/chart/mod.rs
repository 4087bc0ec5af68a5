//! Charts as inline SVG, without colours of their own: the page's style sheet
//! gives every class its colour, so one drawing serves light, dark and paper.
//!
//! | module | subject |
//! |---|---|
//! | [`scale`], [`ticks`], [`tick_text`] | axes as pure functions |
//! | [`declutter`] | positions of labels without overlap |
//! | [`key`] | names with their marks |
//! | [`path`], [`mark`], [`plot`] | lines, shapes, the frame |
//! | [`distribution`] | the samples behind a percentile curve |
//! | [`percentiles`] | series as curves over a logarithmic percentile axis |
//! | [`course`] | a series over the time of its run |
//! | [`curves`] | curves with their intervals, and Pareto fronts |
//! | [`arms`] | the arms of an experiment, in groups of bars |
//! | [`parts`] | parts of wholes, as stacked bars |
//! | [`intervals`] | single numbers with their intervals |
//! | [`strip`] | one measured value and its healthy limit |
//! | [`timeline`] | a critical path over time |

pub(crate) mod arms;
pub(crate) mod course;
pub(crate) mod curves;
mod declutter;
mod distribution;
pub(crate) mod intervals;
mod key;
mod labels;
mod mark;
pub(crate) mod parts;
mod path;
pub(crate) mod percentiles;
mod plot;
mod scale;
pub(crate) mod strip;
mod tick_text;
mod ticks;
pub(crate) mod timeline;

use maud::{Markup, html};

use path::number;

pub(crate) use mark::LINES;
pub(crate) use plot::Paper;
pub(crate) use scale::Domain;

/// Something that can be drawn on paper of any size.
pub(crate) trait Chart {
    /// A short title.
    fn title(&self) -> String;

    /// A description for readers who cannot see it; may be empty.
    fn description(&self) -> String;

    /// Its height on this paper.
    fn height(&self, paper: Paper) -> f64 {
        paper.height
    }

    fn draw(&self, paper: Paper) -> Markup;
}

/// The chart as an SVG element; `class` says when the page shows it.
pub(crate) fn svg(chart: &dyn Chart, paper: Paper, class: &str) -> Markup {
    let height = chart.height(paper);
    let paper = Paper { height, ..paper };
    let view = format!("0 0 {} {}", number(paper.width), number(height));
    html! {
        svg class=(class) viewBox=(view) role="img" xmlns="http://www.w3.org/2000/svg" {
            title { (chart.title()) }
            @let description = chart.description();
            @if !description.is_empty() { desc { (description) } }
            (chart.draw(paper))
        }
    }
}
