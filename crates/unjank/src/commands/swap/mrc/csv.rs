//! Curves as comma-separated values.

use anyhow::Result;
use unjank_swap::mrc::{Curve, Point, Requests};
use unjank_swap::trace::PAGE;

/// One line for each policy and size. LRU's exact curve has additional sizes.
pub(super) fn text(requests: &Requests, curves: &[Curve]) -> Result<Vec<u8>> {
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
                curve.algorithm.to_string(),
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
