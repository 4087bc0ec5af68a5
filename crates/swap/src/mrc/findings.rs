//! Curves as findings of a run record.

use unjank_measure::record::Axis;
use unjank_measure::{Curve as Recorded, Fact, Findings, Point as At, Unit};

use super::read::Requests;
use super::sweep::{Curve, Point};
use super::tables::table;
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
    findings.tables.push(table(requests, curves));
    findings.curves =
        curves.iter().filter(|curve| !curve.points.is_empty()).map(recorded).collect();
    findings
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
        labels: [("policy".to_owned(), curve.policy.to_string())].into(),
        points,
    }
}
