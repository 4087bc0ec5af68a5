//! The block devices that the path waited for.

use std::collections::{BTreeMap, BTreeSet};

use unjank_measure::Unit;
use unjank_measure::record::{Cell as TableCell, Column, Table};
use unjank_units::Nanos;

use super::explained::Explained;
use super::names::operation;
use crate::path::{Activity, Detail};

/// A row for each device and operation; `None` if the path never waited for
/// storage.
pub(super) fn table(launch: &Explained) -> Option<Table> {
    type Row = (Nanos, BTreeSet<u32>, u64);
    let mut rows: BTreeMap<(String, &'static str), Row> = BTreeMap::new();
    for segment in &launch.path.segments {
        let Detail::Request(id) = segment.detail else { continue };
        let Some(request) = launch.history.request(id) else { continue };
        let device = request.asked.device.to_string();
        let what = match segment.activity {
            Activity::PageIn => "page-in",
            _ => operation(request.asked.letters.as_bytes()),
        };
        let (time, requests, sectors) = rows.entry((device, what)).or_default();
        *time = *time + segment.length();
        if requests.insert(id.0) {
            *sectors += u64::from(request.asked.sectors);
        }
    }
    if rows.is_empty() {
        return None;
    }
    let columns = [
        Column::text("device"),
        Column::text("operation"),
        Column::of("time", Unit::Nanoseconds),
        Column::of("requests", Unit::Count),
        Column::of("size", Unit::Bytes),
    ];
    let mut table = Table::new("why/storage", "Requests to block devices on the path", columns);
    for ((device, what), (time, requests, sectors)) in rows {
        table.push([
            device.into(),
            what.into(),
            TableCell::number(time.get() as f64),
            TableCell::number(requests.len() as f64),
            TableCell::number(sectors.saturating_mul(512) as f64),
        ]);
    }
    Some(table)
}
