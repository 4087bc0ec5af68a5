//! Curves as a table: a row for each policy and a column for each size.

use unjank_host::Bytes;
use unjank_measure::number::grouped;
use unjank_measure::{Cell, Column, Mark, Number, Table, Unit};

use super::read::Requests;
use super::sweep::{Curve, Point};
use crate::trace::PAGE;

/// The policy with the fewest misses at most sizes, in a sentence; for a single policy, its misses
/// at the smallest and the largest size. `None` without points.
pub(super) fn headline(curves: &[Curve]) -> Option<String> {
    let miss_ratio = |point: &Point| Unit::Ratio.show(point.estimate.miss_ratio);
    if let [only] = curves {
        let by_size = |point: &&Point| point.capacity;
        let [small, large] =
            [only.points.iter().min_by_key(by_size)?, only.points.iter().max_by_key(by_size)?];
        let (ratio, size) = (miss_ratio(small), bytes(small.capacity));
        let smallest = format!("Misses of {}: {ratio} of the requests with {size}", only.algorithm);
        let largest = format!(", {} with {}", miss_ratio(large), bytes(large.capacity));
        let has_several = small.capacity < large.capacity;
        return Some(if has_several { smallest + &largest } else { smallest });
    }
    let capacities = capacities(curves);
    let wins = |curve: &&Curve| {
        let wins = |capacity: &&u64| {
            let own = at(curve, **capacity).map(|point| point.estimate.miss_ratio);
            own.is_some_and(|own| own <= fewest(curves, **capacity))
        };
        capacities.iter().filter(wins).count()
    };
    // Of equal ones, the first counts.
    let online = curves.iter().filter(|curve| !curve.algorithm.is_offline());
    let best = online.rev().max_by_key(wins)?;
    let (wins, all) = (wins(&best), capacities.len());
    (wins > 0).then(|| format!("Fewest misses: {}, at {wins} of {all} sizes", best.algorithm))
}

fn capacities(curves: &[Curve]) -> Vec<u64> {
    let mut capacities: Vec<u64> = points(curves).map(|point| point.capacity).collect();
    capacities.sort_unstable();
    capacities.dedup();
    capacities
}

fn at(curve: &Curve, capacity: u64) -> Option<Point> {
    curve.points.iter().find(|point| point.capacity == capacity).copied()
}

/// The lowest miss ratio of all policies at a size. Offline optima do not compete.
fn fewest(curves: &[Curve], capacity: u64) -> f64 {
    let online = curves.iter().filter(|curve| !curve.algorithm.is_offline());
    let ratios = online.filter_map(|curve| at(curve, capacity));
    ratios.map(|point| point.estimate.miss_ratio).fold(f64::INFINITY, f64::min)
}

pub(super) fn table(requests: &Requests, curves: &[Curve]) -> Table {
    let capacities = capacities(curves);
    let sizes = capacities.iter().map(|capacity| Column::of(bytes(*capacity), Unit::Ratio));
    let columns = std::iter::once(Column::text("policy")).chain(sizes);
    let fewest: Vec<f64> = capacities.iter().map(|capacity| fewest(curves, *capacity)).collect();
    let several = curves.iter().filter(|curve| !curve.algorithm.is_offline()).count() > 1;
    let rows = curves.iter().map(|curve| {
        let cells = capacities.iter().zip(&fewest).map(|(capacity, fewest)| {
            let point = at(curve, *capacity)?;
            let ratio = point.estimate.miss_ratio;
            let wins = several && !curve.algorithm.is_offline() && ratio <= *fewest;
            let best = wins.then_some(Mark::Best);
            Some(Number::new(ratio).within(point.estimate.interval).marked(best))
        });
        let cells = cells.map(Cell::maybe);
        std::iter::once(curve.algorithm.to_string().into()).chain(cells).collect::<Vec<_>>()
    });
    let mut table = Table::new("swap/mrc/miss_ratio", "Miss ratio by size of the cache", columns)
        .with_rows(rows)
        .with_note(what_was_read(requests));
    if several {
        let estimated = points(curves).any(|point| point.estimate.interval.is_some());
        let open = if estimated {
            " by estimate: where intervals overlap, that may be chance"
        } else {
            ""
        };
        table.notes.push(format!("* the fewest misses at this size{open}"));
    }
    table
}

/// The number of requests and pages of the trace, and of those that were simulated.
fn what_was_read(requests: &Requests) -> String {
    let sample = &requests.sample;
    let footprint = sample.whole_footprint();
    let about = if sample.is_all() { "" } else { "about " };
    let simulated = if sample.is_all() {
        "all of them simulated: exact".to_owned()
    } else {
        format!(
            "the {} requests for {:.3} % of the pages simulated: ± is a 95 % interval",
            grouped(sample.pages().len() as u64),
            sample.rate() * 100.0
        )
    };
    let first = footprint as f64 / sample.requests().max(1) as f64;
    format!(
        "{} requests for {about}{} different pages ({about}{}); {simulated}; \
         {about}{:.2} % are first requests for their page, which miss at any size",
        grouped(sample.requests()),
        grouped(footprint),
        bytes(footprint),
        first.min(1.0) * 100.0
    )
}

fn points(curves: &[Curve]) -> impl Iterator<Item = &Point> {
    curves.iter().flat_map(|curve| &curve.points)
}

fn bytes(pages: u64) -> String {
    Bytes(pages.saturating_mul(PAGE)).to_string()
}
