//! The output of AOSP's `schd-dbg`: its keys, as valid JSON.

use std::fmt::Write as _;

use serde_json::Value;
use unjank_measure::{Cell, RunRecord};

use super::cells::{number, rows, text};

/// `cfg`, a `P<n>` for each pair that measured something, and `inheritance`. Without
/// the transport nothing is measured.
pub(super) fn document(record: &RunRecord) -> String {
    let setting = |name: &str| record.settings.get(name).and_then(Value::as_u64).unwrap_or(0);
    let mut document = format!(
        "{{\n\"cfg\":{{\"pair\":{},\"iterations\":{},\"deadline_us\":{}}},\n",
        setting("pairs"),
        setting("iterations"),
        setting("deadline") / 1_000,
    );
    for pair in rows(record, "ipc/schd_dbg/pairs") {
        document.push_str(&pair_object(record, pair));
    }
    let inheritance = rows(record, "ipc/schd_dbg/inheritance").first();
    let inheritance = inheritance.map_or("UNSUPPORTED", |row| text(row, 0));
    // Writing to a string cannot fail.
    let _infallible = write!(document, "\"inheritance\": \"{inheritance}\"\n}}");
    document
}

fn pair_object(record: &RunRecord, row: &[Cell]) -> String {
    let pair = text(row, 0);
    let mut object = String::new();
    for policy in ["fifo", "other"] {
        if let Some(calls) = calls(record, pair, policy) {
            let _infallible = writeln!(object, "\"{policy}_{pair}_data\": [{calls}],");
        }
    }
    let [synced, calls, share] = [2, 3, 4].map(|at| number(row, at).unwrap_or(0.0));
    let _infallible = write!(
        object,
        "\"P{pair}\":{{\"SYNC\":\"{}\",\"S\":{synced},\"I\":{calls},\"R\":{share},\n  \
         \"other_ms\":{},\n  \"fifo_ms\":{}\n}},\n",
        text(row, 1),
        leg(record, pair, "other"),
        leg(record, pair, "fifo"),
    );
    object
}

/// Milliseconds to the nanosecond; `null` for values that were not measured.
fn leg(record: &RunRecord, pair: &str, policy: &str) -> String {
    let is = |row: &&Vec<Cell>| (text(row, 0), text(row, 1)) == (pair, policy);
    let row = rows(record, "ipc/schd_dbg/legs").iter().find(is);
    let figure = |at: usize, divided: f64| {
        let value = row.and_then(|row| number(row, at));
        value.map_or_else(|| "null".to_owned(), |value| (value / divided).to_string())
    };
    let [average, worst, best] = [2, 3, 4].map(|at| figure(at, 1e6));
    let [missed, met] = [5, 6].map(|at| figure(at, 1.0));
    format!(
        "{{ \"avg\":{average}, \"wst\":{worst}, \"bst\":{best}, \"miss\":{missed}, \
         \"meetR\":{met}}}"
    )
}

/// Every round trip in nanoseconds, if all were kept.
fn calls(record: &RunRecord, pair: &str, policy: &str) -> Option<String> {
    let end = format!("/{policy}/calls");
    let curve = record.findings.curves.iter().find(|curve| {
        curve.name.ends_with(&end) && curve.labels.get("pair").is_some_and(|of| of == pair)
    })?;
    let samples: Vec<String> = curve.points.iter().map(|point| point.y.to_string()).collect();
    Some(samples.join(","))
}
