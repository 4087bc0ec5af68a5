//! Curves as findings of a run record.

use unjank_cachesim::Policy;
use unjank_cachesim::mrc::sampled::MIN_ROOM;
use unjank_measure::record::Axis;
use unjank_measure::{Curve as Recorded, Fact, Findings, Point as At, Unit};

use super::read::Requests;
use super::sweep::{Curve, Point};
use super::tables::{headline, table};
use crate::trace::PAGE;

/// The curves, and facts about the requests.
pub fn findings(requests: &Requests, curves: &[Curve]) -> Findings {
    let mut findings = requests.summary.findings();
    let sample = &requests.sample;
    if sample.requests() == 0 {
        findings.not_supported("swap/mrc", "no requests for pages");
        return findings;
    }
    let footprint = sample.whole_footprint() as f64;
    let count = sample.requests() as f64;
    findings.facts.extend([
        Fact::new("swap/mrc/requests", count, Unit::Count),
        Fact::new("swap/mrc/footprint", footprint, Unit::Pages),
        Fact::new("swap/mrc/rate", sample.rate(), Unit::Ratio),
        // The first request for each page misses at any size.
        Fact::new("swap/mrc/first_requests", (footprint / count).min(1.0), Unit::Ratio),
    ]);
    findings.headline = headline(curves);
    findings.tables.push(table(requests, curves));
    findings.curves =
        curves.iter().filter(|curve| !curve.points.is_empty()).map(recorded).collect();
    for warning in warnings(requests, curves) {
        findings.warn(warning);
    }
    findings
}

/// Warnings about the limits of the curves.
fn warnings(requests: &Requests, curves: &[Curve]) -> Vec<String> {
    let sample = &requests.sample;
    let mut warnings = Vec::new();
    let points = || curves.iter().flat_map(|curve| &curve.points);
    if !sample.is_all() && points().any(|point| point.estimate.interval.is_none()) {
        warnings.push(format!(
            "caches that are too small for this sample (fewer than {MIN_ROOM:.0} sampled pages) \
             have no interval"
        ));
    }
    if !sample.is_all() && curves.iter().any(|curve| curve.algorithm == Policy::Sieve.into()) {
        warnings.push(
            "SIEVE behaves differently in small caches: where the popular pages change, its misses \
             may be underestimated beyond the interval, by 3 points in our tests"
                .to_owned(),
        );
    }
    let footprint = sample.whole_footprint();
    if points().any(|point| point.capacity > footprint) {
        warnings.push(format!(
            "the trace has {footprint} different pages; a larger cache holds all of them"
        ));
    }
    warnings
}

fn recorded(curve: &Curve) -> Recorded {
    let at = |point: &Point| At {
        x: point.capacity as f64 * PAGE as f64,
        y: point.estimate.miss_ratio,
        interval: point.estimate.interval,
    };
    let mut points: Vec<At> = curve.points.iter().chain(&curve.between).map(at).collect();
    points.sort_by(|one, other| one.x.total_cmp(&other.x));
    Recorded {
        name: "swap/mrc/miss_ratio".to_owned(),
        x: Axis::new("size of the cache", Unit::Bytes),
        y: Axis::new("miss ratio", Unit::Ratio),
        labels: [("policy".to_owned(), curve.algorithm.to_string())].into(),
        points,
    }
}
