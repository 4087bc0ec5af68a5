//! The paper's values as facts, and as curves beside ours.

use std::collections::BTreeMap;

use unjank_host::energy::Origin;
use unjank_measure::record::Axis;
use unjank_measure::{Curve, Direction, Fact, Findings, Point, Unit};

use super::results::{FigureRow, PaperResults};
use crate::power::table::Row as Period;
use crate::simulate::paper::{FIG_2_RANGE, FIG_3_CHANGE, Prediction};

/// A change as a share, and its interval.
type Share = (f64, Option<[f64; 2]>);

/// Adds the paper's and the model's values for launches.
pub(super) fn note_launches(results: &mut PaperResults, prediction: &Prediction) {
    let mut facts = Vec::new();
    for (end, value) in [("least", FIG_2_RANGE[1]), ("most", FIG_2_RANGE[0])] {
        facts.push(change("fig2/launch_change_in_paper", value).with_label("end", end));
    }
    facts.push(change("fig3/basic_change_in_paper", FIG_3_CHANGE));
    let modelled = |fact: Fact| {
        fact.with_label("governor", &prediction.governor)
            .with_label("origin", Origin::Modelled.to_string())
    };
    for (load, predicted) in &prediction.total {
        let fact = change("fig2/launch_change_predicted", *predicted);
        facts.push(modelled(fact).with_label("load", load.to_string()));
    }
    facts.push(modelled(change("fig3/basic_change_predicted", prediction.basic)));
    results.findings.facts.extend(facts);
    let curves = fig2(&results.total);
    results.findings.curves.extend(curves);
}

/// Adds the paper's values for energy.
pub(super) fn note_energy(results: &mut PaperResults) {
    let PaperResults { findings, periods, .. } = results;
    for period in periods.iter() {
        let every = period.rate.to_string();
        if let Some(energy) = period.paper {
            let fact = Fact::new("launch/paper/table3/energy_in_paper", energy.0, Unit::Joules);
            findings.facts.push(fact.with_label("every", every.clone()));
        }
        if let Some(difference) = period.paper_difference {
            let fact = change("table3/energy_change_in_paper", difference);
            findings.facts.push(fact.with_label("every", every));
        }
    }
    table3(periods, findings);
}

fn fig2(lines: &[FigureRow]) -> Vec<Curve> {
    let curve = |by: &str, value: &dyn Fn(&FigureRow) -> Option<Share>| Curve {
        name: "launch/paper/fig2".to_owned(),
        x: Axis::new("load at full clock", Unit::Nanoseconds),
        y: Axis::new("change of the launch time with the service", Unit::Ratio),
        labels: labels(by),
        points: points(lines, |line| {
            let (y, interval) = value(line)?;
            Some(Point { x: line.load?.get() as f64, y, interval })
        }),
    };
    let here = |line: &FigureRow| {
        let difference = line.measured.as_ref()?.difference.as_ref()?;
        Some((difference.value, difference.interval))
    };
    let all = [
        curve("here", &here),
        curve("predicted", &|line| Some((line.predicted, None))),
        curve("paper: −2 %", &|_| Some((FIG_2_RANGE[1], None))),
        curve("paper: −5 %", &|_| Some((FIG_2_RANGE[0], None))),
    ];
    all.into_iter().filter(|curve| !curve.points.is_empty()).collect()
}

fn table3(periods: &[Period], findings: &mut Findings) {
    let curve = |by: &str, value: &dyn Fn(&Period) -> Option<Share>| Curve {
        name: "launch/paper/table3".to_owned(),
        x: Axis::new("sampling period", Unit::Nanoseconds),
        y: Axis::new("change of the idle energy from that at 100 ms", Unit::Ratio),
        labels: labels(by),
        points: points(periods, |period| {
            let (y, interval) = match period.effect {
                None => (0.0, None),
                Some(_) => value(period)?,
            };
            Some(Point { x: period.actual.get() as f64, y, interval })
        }),
    };
    let here = |period: &Period| {
        let ratio = period.effect.as_ref()?.ratio?;
        Some((ratio.value - 1.0, Some(ratio.interval.map(|end| end - 1.0))))
    };
    findings.curves.push(curve("here", &here));
    findings.curves.push(curve("Jo & Suh", &|period| Some((period.paper_difference?, None))));
}

fn points<T>(all: &[T], point: impl Fn(&T) -> Option<Point>) -> Vec<Point> {
    let mut points: Vec<Point> = all.iter().filter_map(point).collect();
    points.sort_by(|one, other| one.x.total_cmp(&other.x));
    points
}

fn labels(by: &str) -> BTreeMap<String, String> {
    [("by".to_owned(), by.to_owned())].into()
}

fn change(name: &str, share: f64) -> Fact {
    Fact::new(format!("launch/paper/{name}"), share, Unit::Ratio).with_better(Direction::Smaller)
}
