//! The figures of AOSP's `schd-dbg`, as tables.
//!
//! Source: `binder_benchmark/schd-dbg.cpp` of AOSP's `frameworks/native`.

use std::collections::BTreeMap;

use unjank_measure::record::Axis;
use unjank_measure::{Cell, Column, Curve, Findings, Point, Table, Unit};

use super::options::CallPolicy;
use super::report::{Leg, PairReport};
use super::{Measured, Measurements};

/// AOSP's limit between `GOOD` and `POOR`.
const GOOD_SYNC: f64 = 0.6;

/// Adds the tables, and a curve with a point for each call if all were kept.
pub fn note(measurements: &Measurements, findings: &mut Findings) {
    let Some(measured) = measurements.by_transport.first() else { return };
    findings.tables.extend([pairs(measured), legs(measured), inheritance(measured)]);
    for (number, report) in reports(measured) {
        let raw = report.legs.iter().filter(|leg| !leg.raw.is_empty());
        findings.curves.extend(raw.map(|leg| calls(measured, number, leg)));
    }
}

/// The pairs of the only start: AOSP's tool starts each server once.
fn reports(measured: &Measured) -> impl Iterator<Item = (usize, &PairReport)> {
    let pairs = measured.starts.iter().take(1).flat_map(|start| start.pairs.iter().enumerate());
    pairs.filter_map(|(number, pair)| Some((number, pair.as_ref().ok()?)))
}

/// Calls served on the caller's CPU (S), all calls (I), and the share (R).
fn pairs(measured: &Measured) -> Table {
    let columns = [
        Column::text("pair"),
        Column::text("sync"),
        Column::of("S", Unit::Count),
        Column::of("I", Unit::Count),
        Column::of("R", Unit::Count),
    ];
    let rows = reports(measured).map(|(number, report)| {
        let calls: u64 = report.legs.iter().map(|leg| leg.series.n).sum();
        let synced: u64 = report.legs.iter().map(|leg| leg.same_cpu).sum();
        let share = share(synced, calls);
        let rating = if share > GOOD_SYNC { "GOOD" } else { "POOR" };
        [
            number.to_string().into(),
            rating.into(),
            Cell::number(synced as f64),
            Cell::number(calls as f64),
            Cell::number(share),
        ]
    });
    Table::new("ipc/schd_dbg/pairs", "Calls served on the caller's CPU", columns).with_rows(rows)
}

/// Round trips at each policy: calls that missed the deadline, and the share
/// that met it (`meetR`).
fn legs(measured: &Measured) -> Table {
    let time = |name| Column::of(name, Unit::Nanoseconds);
    let columns = [
        Column::text("pair"),
        Column::text("policy"),
        time("average"),
        time("worst"),
        time("best"),
        Column::of("missed", Unit::Count),
        Column::of("meetR", Unit::Count),
    ];
    let rows = reports(measured).flat_map(|(number, report)| {
        [CallPolicy::Other, CallPolicy::Fifo].map(|policy| {
            let leg = report.legs.iter().find(|leg| leg.policy == policy);
            let place = [number.to_string().into(), policy.name().into()];
            place.into_iter().chain(leg.map(figures).unwrap_or_default()).collect::<Vec<_>>()
        })
    });
    Table::new("ipc/schd_dbg/legs", "Round trips", columns).with_rows(rows)
}

fn figures(leg: &Leg) -> Vec<Cell> {
    let Some(summary) = leg.series.summary else { return Vec::new() };
    let average = (leg.total as f64 / leg.series.n as f64).round();
    let met = share(leg.series.n - leg.late, leg.series.n);
    [average, summary.max as f64, summary.min as f64, leg.late as f64, met].map(Cell::number).into()
}

fn inheritance(measured: &Measured) -> Table {
    let word = measured.inheritance.answer.word();
    let columns = [Column::text("inheritance")];
    Table::new("ipc/schd_dbg/inheritance", "Inheritance", columns).with_rows([[word.into()]])
}

/// Every call of a leg, in order.
fn calls(measured: &Measured, number: usize, leg: &Leg) -> Curve {
    let point =
        |(call, nanos): (usize, &u64)| Point { x: call as f64, y: *nanos as f64, interval: None };
    Curve {
        name: format!("ipc/{}/{}/calls", measured.transport, leg.policy.name()),
        x: Axis::new("call", Unit::Count),
        y: Axis::new("round trip", Unit::Nanoseconds),
        labels: BTreeMap::from([("pair".to_owned(), number.to_string())]),
        points: leg.raw.iter().enumerate().map(point).collect(),
    }
}

fn share(part: u64, of: u64) -> f64 {
    if of == 0 { 0.0 } else { part as f64 / of as f64 }
}
