//! Curves: speed over time since wake, throughput over size.

use maud::{Markup, html};
use unjank_measure::record::Axis as AxisOf;
use unjank_measure::{Curve, Point, Unit};

use crate::chart::Chart;
use crate::chart::labels::{labels, room};
use crate::chart::mark::{LINES, with_tooltip};
use crate::chart::path::{area, line, number};
use crate::chart::plot::{Axis, Paper, Plot, axes, fitted};
use crate::chart::scale::{DECADES_FOR_LOG, Domain};
use crate::visible::visible;

/// The most points that are marked one by one.
const MARKED: usize = 24;

/// The most dots drawn of points without a line.
const DOTS: usize = 1_000;

/// Curves over the same axes.
#[derive(Debug)]
pub(crate) struct Curves {
    title: String,
    across: AxisOf,
    up: AxisOf,
    lines: Vec<(String, Vec<Point>)>,
    /// Points without a line.
    dots: Vec<Point>,
    x: Domain,
    y: Domain,
}

impl Curves {
    /// A chart of curves that share both axes, each with its name in the chart;
    /// `None` if no point can be drawn.
    pub(crate) fn of(title: String, curves: &[(&Curve, String)]) -> Option<Self> {
        Self::with_dots(title, curves, None)
    }

    /// A Pareto front as a line, and all points as dots.
    pub(crate) fn pareto_front(title: String, front: &Curve, all: Option<&Curve>) -> Option<Self> {
        Self::with_dots(title, &[(front, "Pareto front".to_owned())], all)
    }

    fn with_dots(title: String, curves: &[(&Curve, String)], dots: Option<&Curve>) -> Option<Self> {
        let (first, _) = curves.first()?;
        let finite = |point: &&Point| point.x.is_finite() && point.y.is_finite();
        let dots: Vec<Point> =
            dots.map_or(&[][..], |all| &all.points).iter().filter(finite).copied().collect();
        let drawn: Vec<(String, Vec<Point>)> = curves
            .iter()
            .take(LINES)
            .map(|(curve, name)| {
                let mut points: Vec<Point> = curve.points.iter().filter(finite).copied().collect();
                points.sort_by(|a, b| a.x.total_cmp(&b.x));
                (name.clone(), points)
            })
            .filter(|(_, points)| !points.is_empty())
            .collect();
        let points = || drawn.iter().flat_map(|(_, points)| points).chain(&dots);
        let mut across: Vec<f64> = points().map(|point| point.x).collect();
        across.sort_by(f64::total_cmp);
        across.dedup();
        let x = Domain::along(&across);
        let values = || {
            points()
                .flat_map(|point| [point.y].into_iter().chain(point.interval.into_iter().flatten()))
        };
        // Shares of a whole have a linear axis.
        let are_shares = first.y.unit == Unit::Ratio && values().all(|y| (0.0..=1.0).contains(&y));
        let decades = if are_shares { f64::INFINITY } else { DECADES_FOR_LOG };
        let y = Domain::covering_log_above(decades, values());
        (!drawn.is_empty()).then(|| Self {
            title,
            across: first.x.clone(),
            up: first.y.clone(),
            lines: drawn,
            dots,
            x,
            y,
        })
    }
}

impl Curves {
    /// A point in words.
    fn in_words(&self, point: &Point) -> String {
        let value = |value| self.up.unit.show(value);
        let interval = point.interval.map_or_else(String::new, |[low, high]| {
            format!(" ({} to {})", value(low), value(high))
        });
        format!("{}{interval} at {}", value(point.y), self.across.unit.show(point.x))
    }
}

impl Chart for Curves {
    fn title(&self) -> String {
        self.title.clone()
    }

    fn description(&self) -> String {
        let curves: Vec<String> = self
            .lines
            .iter()
            .filter_map(|(name, points)| {
                let (first, last) = (points.first()?, points.last()?);
                Some(format!(
                    "{name}: {} points, from {} to {}",
                    points.len(),
                    self.in_words(first),
                    self.in_words(last)
                ))
            })
            .collect();
        let (up, across) = (visible(&self.up.name), visible(&self.across.name));
        let dots = match self.dots.len() {
            0 => String::new(),
            dots => format!(" {dots} points in all."),
        };
        format!("{up} over {across}. {}.{dots}", curves.join(". "))
    }

    fn draw(&self, paper: Paper) -> Markup {
        let up = Axis::new(self.y, self.up.unit, 6);
        let across = Axis::new(self.x, self.across.unit, 6);
        let several = self.lines.len() > 1;
        let names = self.lines.iter().map(|(name, _)| if several { name.as_str() } else { "" });
        let plot = Plot {
            left: up.text_width(),
            right: paper.width - room(names.clone(), paper),
            top: 26.0,
            bottom: paper.height - 38.0,
        };
        let (x, y) = (plot.x(self.x), plot.y(self.y));
        let at = |point: &Point| [x.at(point.x), y.at(point.y)];
        let ends: Vec<_> = names
            .zip(&self.lines)
            .filter_map(|(name, (_, points))| Some((name, at(points.last()?))))
            .collect();
        html! {
            (axes(&plot, &across, &up))
            text class="axis" x="2" y="12" { (fitted(&visible(&self.up.name), paper.width - 4.0)) }
            text class="axis" x=(number(plot.right)) y=(number(paper.height - 4.0)) text-anchor="end" {
                (fitted(&visible(&self.across.name), plot.right))
            }
            g class="dots" {
                @for point in self.dots.iter().step_by(self.dots.len().div_ceil(DOTS).max(1)) {
                    @let [x, y] = at(point);
                    circle cx=(number(x)) cy=(number(y)) r="2" { title { (self.in_words(point)) } }
                }
            }
            @for (index, (name, points)) in self.lines.iter().enumerate() {
                g class={ "s" (index % LINES + 1) } {
                    @let edge = |side: usize| -> Vec<_> {
                        let band = |point: &Point| Some([x.at(point.x), y.at(point.interval?[side])]);
                        points.iter().filter_map(band).collect()
                    };
                    path class="band" d=(area(&edge(1), &edge(0))) {}
                    @let places: Vec<_> = points.iter().map(at).collect();
                    path class="line" d=(line(&places)) {}
                    @if points.len() <= MARKED {
                        @for (point, place) in points.iter().zip(places) {
                            (with_tooltip(index, place, 3.0, &format!("{name}: {}", self.in_words(point))))
                        }
                    }
                }
            }
            (labels(&plot, paper, &ends))
        }
    }
}
