//! Curves as a table, and as comma-separated values.

use anyhow::Result;
use unjank_host::Bytes;
use unjank_measure::RunRecord;
use unjank_swap::mrc::{Curve, Point, Requests};
use unjank_swap::trace::PAGE;

use crate::commands::swap::reading;
use crate::output::{columns, notes};

/// A line for each policy, and a column for each size.
pub(super) fn tables(record: &RunRecord, requests: &Requests, curves: &[Curve]) -> String {
    let sample = &requests.sample;
    let mut lines = reading::lines(&requests.summary);
    if sample.requests() > 0 {
        let footprint = sample.whole_footprint();
        let about = if sample.is_all() { "" } else { "about " };
        lines.push(format!(
            "{} requests for {about}{footprint} different pages ({about}{}); {}",
            sample.requests(),
            bytes(footprint),
            if sample.is_all() {
                "all of them simulated: exact".to_owned()
            } else {
                format!(
                    "the {} requests for {:.3} % of the pages simulated: ± is a 95 % interval",
                    sample.pages().len(),
                    sample.rate() * 100.0
                )
            }
        ));
        let first = footprint as f64 / sample.requests() as f64;
        lines.push(format!(
            "{about}{:.2} % are first requests for their page, which miss at any size",
            first.min(1.0) * 100.0
        ));
        lines.push(String::new());
        lines.extend(table(curves));
        lines.push(String::new());
    }
    lines.extend(notes(record));
    lines.join("\n").trim_end().to_owned()
}

fn table(curves: &[Curve]) -> Vec<String> {
    let mut capacities: Vec<u64> =
        curves.iter().flat_map(|curve| &curve.points).map(|point| point.capacity).collect();
    capacities.sort_unstable();
    capacities.dedup();
    if capacities.is_empty() {
        return Vec::new();
    }
    let header: Vec<String> = std::iter::once("Miss ratio, %".to_owned())
        .chain(capacities.iter().map(|capacity| bytes(*capacity)))
        .collect();
    let at = |curve: &Curve, capacity: u64| {
        curve.points.iter().find(|point| point.capacity == capacity).copied()
    };
    let fewest: Vec<f64> = capacities
        .iter()
        .map(|capacity| {
            let ratios = curves.iter().filter_map(|curve| at(curve, *capacity));
            ratios.map(|point| point.estimate.miss_ratio).fold(f64::INFINITY, f64::min)
        })
        .collect();
    let several = curves.len() > 1;
    let rows: Vec<Vec<String>> = curves
        .iter()
        .map(|curve| {
            let cells = capacities.iter().zip(&fewest).map(|(capacity, fewest)| {
                let Some(point) = at(curve, *capacity) else { return "–".to_owned() };
                let is_fewest = several && point.estimate.miss_ratio <= *fewest;
                format!("{}{}", cell(&point), if is_fewest { "*" } else { "" })
            });
            std::iter::once(curve.policy.to_string()).chain(cells).collect()
        })
        .collect();
    let mut lines = columns(&rows, &header);
    if several {
        let sampled = curves.iter().flat_map(|curve| &curve.points);
        let sampled = sampled.clone().any(|point| point.estimate.interval.is_some());
        let open = if sampled {
            ", as estimated: where intervals overlap, that may be chance"
        } else {
            ""
        };
        lines.push(format!("* the fewest misses at this size{open}"));
    }
    lines
}

fn cell(point: &Point) -> String {
    let percent = point.estimate.miss_ratio * 100.0;
    match point.estimate.interval {
        // The wider side: an interval ends at 0 and at 1.
        Some([low, high]) => {
            let ratio = point.estimate.miss_ratio;
            format!("{percent:.2} ±{:.2}", (ratio - low).max(high - ratio) * 100.0)
        }
        None => format!("{percent:.2}"),
    }
}

/// One line for each policy and size: the curve of LRU has more of them than were asked for.
pub(super) fn csv(requests: &Requests, curves: &[Curve]) -> Result<Vec<u8>> {
    let mut writer = csv::Writer::from_writer(Vec::new());
    writer.write_record(["policy", "bytes", "pages", "miss_ratio", "low", "high", "requests"])?;
    for curve in curves {
        let mut points: Vec<Point> = curve.points.iter().chain(&curve.between).copied().collect();
        points.sort_by_key(|point| point.capacity);
        for point in points {
            let [low, high] = point
                .estimate
                .interval
                .map_or_else(Default::default, |interval| interval.map(|end| end.to_string()));
            writer.write_record([
                curve.policy.to_string(),
                (point.capacity * PAGE).to_string(),
                point.capacity.to_string(),
                point.estimate.miss_ratio.to_string(),
                low,
                high,
                requests.sample.requests().to_string(),
            ])?;
        }
    }
    Ok(writer.into_inner().map_err(csv::IntoInnerError::into_error)?)
}

fn bytes(pages: u64) -> String {
    Bytes(pages.saturating_mul(PAGE)).to_string()
}
