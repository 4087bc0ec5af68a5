//! Single numbers as horizontal bars with 95 % intervals.

use maud::{Markup, html};
use unjank_measure::Unit;

use crate::chart::Chart;
use crate::chart::path::number;
use crate::chart::plot::{Axis, CHARACTER, Paper, Plot, axes, fitted};
use crate::chart::scale::Domain;
use crate::words;

/// The most rows of one chart.
pub(crate) const ROWS: usize = 24;

/// The height of a row.
const ROW: f64 = 24.0;

/// Numbers in one unit, one row each.
#[derive(Debug)]
pub(crate) struct Intervals {
    title: String,
    unit: Unit,
    rows: Vec<Row>,
    values: Domain,
}

/// One number.
#[derive(Debug, Clone)]
pub(crate) struct Row {
    pub(crate) name: String,
    pub(crate) value: f64,
    pub(crate) interval: Option<[f64; 2]>,
}

impl Intervals {
    /// A chart of `rows`; `None` if nothing can be drawn.
    pub(crate) fn of(title: String, unit: Unit, rows: Vec<Row>) -> Option<Self> {
        let rows: Vec<Row> =
            rows.into_iter().filter(|row| row.value.is_finite()).take(ROWS).collect();
        let mut values = Domain::covering(
            rows.iter()
                .flat_map(|row| [row.value].into_iter().chain(row.interval.into_iter().flatten())),
        );
        // A bar's length is its value, so the axis starts at zero.
        if !values.log {
            values = Domain::linear(values.low.min(0.0), values.high.max(0.0));
        }
        (!rows.is_empty()).then_some(Self { title, unit, rows, values })
    }
}

impl Intervals {
    /// A row in words.
    fn in_words(&self, row: &Row) -> String {
        format!("{}: {}", row.name, words::with_interval(self.unit, row.value, row.interval))
    }
}

impl Chart for Intervals {
    fn title(&self) -> String {
        self.title.clone()
    }

    fn description(&self) -> String {
        let rows: Vec<String> = self.rows.iter().map(|row| self.in_words(row)).collect();
        format!("{}.", rows.join("; "))
    }

    fn height(&self, _paper: Paper) -> f64 {
        self.rows.len() as f64 * ROW + 38.0
    }

    fn draw(&self, paper: Paper) -> Markup {
        let axis = Axis::new(self.values, self.unit, if paper.is_wide() { 8 } else { 4 });
        let longest = self.rows.iter().map(|row| row.name.chars().count()).max().unwrap_or(0);
        let plot = Plot {
            left: (longest as f64 * CHARACTER + 14.0).min(paper.width * 0.46),
            right: paper.width - 20.0,
            top: 8.0,
            bottom: paper.height - 24.0,
        };
        let x = plot.x(self.values);
        let no_rows =
            Axis { domain: Domain::linear(0.0, 1.0), ticks: Vec::new(), texts: Vec::new() };
        let from = if self.values.log { None } else { Some(x.at(0.0)) };
        html! {
            (axes(&plot, &axis, &no_rows))
            @for (index, row) in self.rows.iter().enumerate() {
                @let middle = plot.top + (index as f64 + 0.5) * ROW;
                @let at = x.at(row.value);
                @if from.is_none() {
                    line class="base" x1=(number(plot.left)) x2=(number(plot.right))
                        y1=(number(middle)) y2=(number(middle)) {}
                }
                g class="s1" {
                    title { (self.in_words(row)) }
                    text x=(number(plot.left - 8.0)) y=(number(middle + 4.0)) text-anchor="end" {
                        (fitted(&row.name, plot.left - 8.0))
                    }
                    @if let Some(from) = from {
                        rect class="bar" x=(number(from.min(at))) y=(number(middle - 7.0))
                            width=(number((at - from).abs())) height="14" {}
                    }
                    @if let Some([low, high]) = row.interval {
                        @let (low, high) = (x.at(low), x.at(high));
                        path class="whisker" d={
                            "M" (number(low)) "," (number(middle)) " " (number(high)) "," (number(middle))
                            "M" (number(low)) "," (number(middle - 4.0)) " " (number(low)) "," (number(middle + 4.0))
                            "M" (number(high)) "," (number(middle - 4.0)) " " (number(high)) "," (number(middle + 4.0))
                        } {}
                    }
                    circle class="mark" cx=(number(at)) cy=(number(middle)) r="3.4" {}
                }
            }
        }
    }
}
