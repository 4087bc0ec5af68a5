//! Pareto fronts: the front as a line, all points as dots.

use unjank_measure::Curve;

use crate::chart::curves::Curves;
use crate::group::partition;
use crate::html::figure::{Figure, figure};
use crate::html::outline::Outline;
use crate::names::distinct;
use crate::title::Title;

/// The label with the kind of a curve's points: the Pareto front, or all.
const POINTS: &str = "points";
/// The Pareto front: points that no other beats in both values.
const FRONT: &str = "front";

/// Whether the curve is a Pareto front, or all points of one.
pub(super) fn is_of_front(curve: &Curve) -> bool {
    curve.labels.contains_key(POINTS)
}

/// A chart for each comparison.
pub(super) fn figures(curves: Vec<&Curve>, outline: &Outline) -> Vec<Figure> {
    let about = |curve: &Curve| {
        let mut labels = curve.labels.clone();
        labels.remove(POINTS);
        labels
    };
    let key = |curve: &Curve| (curve.name.clone(), curve.x.clone(), curve.y.clone(), about(curve));
    let fronts = partition(curves, key);
    let labels: Vec<_> = fronts.iter().map(|curves| about(curves[0])).collect();
    let titles = distinct(fronts.iter().map(|curves| curves[0].name.as_str()).zip(&labels));
    let chart = |(curves, title): (&Vec<&Curve>, String)| {
        let is_front = |curve: &&&Curve| curve.labels.get(POINTS).is_some_and(|it| it == FRONT);
        let front = curves.iter().find(is_front)?;
        let all = curves.iter().find(|curve| !is_front(curve));
        let title = Title::of(&title);
        let chart = Curves::pareto_front(title.heading(), front, all.copied())?;
        let note = match all {
            Some(_) => "line: Pareto front, which no other point beats in both; dots: all points",
            None => "Pareto front: no other point beats these in both",
        };
        Some(figure(Box::new(chart), title, note, outline))
    };
    fronts.iter().zip(titles).filter_map(chart).collect()
}
