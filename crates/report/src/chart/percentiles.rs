//! Percentile curves.
//!
//! On the horizontal axis, 90, 99 and 99.9 % are equally far apart, as
//! in HdrHistogram's plots, so the tail can be read.

use maud::{Markup, html};
use unjank_measure::{SeriesRecord, Unit};

use crate::chart::Chart;
use crate::chart::distribution::{Distribution, from_summary, place_of, quantile_at};
use crate::chart::labels::{labels, room};
use crate::chart::mark::{LINES, with_tooltip};
use crate::chart::path::{area, line, number};
use crate::chart::plot::{Axis, Paper, Plot, axes, fitted};
use crate::chart::scale::Domain;
use crate::words;

/// Points along an interval band; the path keeps those that bend it.
const PLACES: usize = 480;

/// Series overlaid in one chart.
#[derive(Debug)]
pub(crate) struct Percentiles {
    title: String,
    unit: Unit,
    curves: Vec<Curve>,
    limits: Vec<Limit>,
    values: Domain,
    reach: f64,
}

/// A healthy limit for one percentile.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Limit {
    /// The largest healthy value.
    pub(crate) at_most: f64,
    /// The quantile to which it applies.
    pub(crate) quantile: f64,
    /// Its label.
    pub(crate) words: String,
    /// The quantity to which it applies; part of the label on wide paper.
    pub(crate) about: String,
}

#[derive(Debug)]
struct Curve {
    name: String,
    /// Position on the percentile axis, value.
    line: Vec<[f64; 2]>,
    /// Position, and the interval of the value.
    band: Vec<(f64, [f64; 2])>,
    /// The round percentiles: quantile, value.
    marks: Vec<[f64; 2]>,
    words: String,
}

impl Percentiles {
    /// A chart of series in one unit, each with its name in the chart, with or without
    /// interval bands; `None` if no series has samples.
    pub(crate) fn of(
        title: String,
        unit: Unit,
        series: &[(&SeriesRecord, String)],
        limits: Vec<Limit>,
        bands: bool,
    ) -> Option<Self> {
        let curves: Vec<Curve> = series
            .iter()
            .take(LINES)
            .map(|(series, name)| Curve::of(series, name, bands))
            .filter(|curve| !curve.line.is_empty())
            .collect();
        let reach =
            curves.iter().filter_map(|curve| Some(curve.line.last()?[0])).fold(1.0, f64::max);
        let values = Domain::covering(
            curves
                .iter()
                .flat_map(|curve| {
                    let line = curve.line.iter().map(|[_, value]| *value);
                    line.chain(curve.band.iter().flat_map(|(_, band)| *band))
                })
                .chain(limits.iter().map(|limit| limit.at_most)),
        );
        (!curves.is_empty()).then_some(Self { title, unit, curves, limits, values, reach })
    }

    /// A marked percentile in words.
    fn in_words(&self, curve: &Curve, quantile: f64, value: f64) -> String {
        let percentile = percentile(quantile);
        format!("{}: p{percentile} {}", curve.name, words::value(self.unit, value))
    }

    fn percentile_axis(&self, paper: Paper) -> Axis {
        // Narrow paper has no room for the minimum beside the median.
        let minimum = if paper.is_wide() { "0" } else { "" };
        let mut ticks = vec![0.0, place_of(0.5)];
        let mut texts = vec![minimum.to_owned(), "50".to_owned()];
        for nine in 1..=(self.reach.floor().clamp(1.0, 12.0) as i32) {
            ticks.push(f64::from(nine));
            texts.push(match nine {
                1 => "90".to_owned(),
                2 => "99".to_owned(),
                more => format!("99.{}", "9".repeat(more as usize - 2)),
            });
        }
        Axis { domain: Domain::linear(0.0, self.reach), ticks, texts }
    }
}

/// A quantile in percent, without digits that are only rounding.
fn percentile(quantile: f64) -> f64 {
    (quantile * 1e8).round() / 1e6
}

impl Curve {
    fn of(series: &SeriesRecord, name: &str, bands: bool) -> Self {
        let words = words::series_in_brief(series);
        let name = name.to_owned();
        let Some(distribution) = Distribution::of(series) else {
            let line = from_summary(series);
            let marks = line.iter().map(|[place, value]| [quantile_at(*place), *value]).collect();
            return Self { name, marks, line, band: Vec::new(), words };
        };
        let reach = distribution.reach();
        let band = (0..=PLACES)
            .filter(|_| bands)
            .map(|index| reach * index as f64 / PLACES as f64)
            .filter_map(|place| {
                let interval = distribution.interval(quantile_at(place))?;
                Some((place, interval.map(|value| value as f64)))
            })
            .collect();
        let marks = [0.5, 0.9, 0.99, 0.999, 0.9999, 0.99999]
            .into_iter()
            .filter(|q| distribution.resolves(*q))
            .map(|q| [q, distribution.quantile(q) as f64])
            .collect();
        Self { name, line: distribution.stairs(), band, marks, words }
    }
}

impl Chart for Percentiles {
    fn title(&self) -> String {
        self.title.clone()
    }

    fn description(&self) -> String {
        let curves: Vec<String> = self
            .curves
            .iter()
            .map(|curve| format!("{}: {}", curve.name, curve.words))
            .chain(self.limits.iter().map(|limit| format!("{}: {}", limit.about, limit.words)))
            .collect();
        format!("Value over percentile. {}.", curves.join(". "))
    }

    fn draw(&self, paper: Paper) -> Markup {
        let values = Axis::new(self.values, self.unit, if paper.is_wide() { 8 } else { 6 });
        let percentiles = self.percentile_axis(paper);
        // The title names a single curve.
        let several = self.curves.len() > 1;
        let names = self.curves.iter().map(|curve| if several { curve.name.as_str() } else { "" });
        let plot = Plot {
            left: values.text_width(),
            right: paper.width - room(names.clone(), paper),
            top: 14.0,
            bottom: paper.height - 38.0,
        };
        let (x, y) = (plot.x(percentiles.domain), plot.y(self.values));
        let at = |[place, value]: [f64; 2]| [x.at(place), y.at(value)];
        let ends: Vec<_> = names
            .zip(&self.curves)
            .filter_map(|(name, curve)| Some((name, at(*curve.line.last()?))))
            .collect();
        html! {
            (axes(&plot, &percentiles, &values))
            text class="axis" x=(number(plot.right)) y=(number(paper.height - 4.0)) text-anchor="end" {
                "percentile"
            }
            @for (index, curve) in self.curves.iter().enumerate() {
                g class={ "s" (index % LINES + 1) } {
                    @let edge = |side: usize| -> Vec<_> {
                        curve.band.iter().map(|(place, band)| at([*place, band[side]])).collect()
                    };
                    path class="band" d=(area(&edge(1), &edge(0))) {}
                    @let places: Vec<_> = curve.line.iter().map(|place| at(*place)).collect();
                    path class="line" d=(line(&places)) {}
                    @for [quantile, value] in &curve.marks {
                        @let text = self.in_words(curve, *quantile, *value);
                        (with_tooltip(index, at([place_of(*quantile), *value]), 3.6, &text))
                    }
                }
            }
            @for limit in &self.limits {
                @let end = at([place_of(limit.quantile), limit.at_most]);
                @let words = if paper.is_wide() {
                    fitted(&format!("{} ({})", limit.words, limit.about), (plot.right - plot.left) * 0.7)
                } else {
                    limit.words.clone()
                };
                (limit_line(&plot, end, &words))
            }
            (labels(&plot, paper, &ends))
        }
    }
}

/// A healthy limit: a line up to its percentile, and a post there. A curve that passes
/// below the post is healthy.
fn limit_line(plot: &Plot, [x, y]: [f64; 2], words: &str) -> Markup {
    let above = if y - plot.top > 16.0 { y - 5.0 } else { y + 14.0 };
    html! {
        g class="limit" {
            line x1=(number(plot.left)) x2=(number(x)) y1=(number(y)) y2=(number(y)) {}
            line class="post" x1=(number(x)) x2=(number(x)) y1=(number(y - 6.0)) y2=(number(y + 6.0)) {}
            text x=(number(plot.left + 5.0)) y=(number(above)) { (words) }
        }
    }
}
