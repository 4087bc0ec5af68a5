//! The explanation of a program by `unjank why`.
#![allow(clippy::unwrap_used)]

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::process::Command;

use assert_cmd::assert::OutputAssertExt as _;
use serde_json::Value;

use super::Cells;

/// The rows of a table.
pub(crate) fn rows<'a>(record: &'a Value, name: &str) -> impl Iterator<Item = &'a Value> {
    let tables = record["tables"].as_array().unwrap();
    let table = tables.iter().find(|table| table["name"] == name).unwrap();
    table["rows"].as_array().unwrap().iter()
}

/// Nanoseconds by way and activity, and the whole.
///
/// # Errors
/// More than 2 % are unknown: the ring buffer sometimes lacks a switch or a system call.
pub(crate) fn cells(record: &Value) -> Result<(Cells, u64), String> {
    let facts = record["facts"].as_array().unwrap();
    let named = |name: &'static str| facts.iter().filter(move |fact| fact["name"] == name).cloned();
    let cells: BTreeMap<_, _> = named("why/time")
        .map(|fact| {
            let label = |name: &str| fact["labels"][name].as_str().unwrap().to_owned();
            ((label("way"), label("activity")), nanos(&fact))
        })
        .collect();
    let total = named("why/total").map(|fact| nanos(&fact)).next().unwrap();
    assert_eq!(cells.values().sum::<u64>(), total, "every nanosecond has one cause: {cells:?}");
    let unknown: u64 =
        cells.iter().filter(|((_, what), _)| what == "unknown").map(|(_, time)| time).sum();
    if unknown * 50 > total {
        return Err(format!("more than 2 % are unknown: {cells:?}"));
    }
    Ok((cells, total))
}

pub(crate) fn nanos(fact: &Value) -> u64 {
    fact["value"].as_f64().unwrap() as u64
}

pub(crate) fn record(options: &[&str], command: &[impl AsRef<OsStr>]) -> Value {
    let output = Command::new(unjank_needs::unjank!())
        .args(["why", "--no-store", "--json"])
        .args(options)
        .arg("--")
        .args(command)
        .assert()
        .success();
    serde_json::from_slice(&output.get_output().stdout).unwrap()
}

pub(crate) fn of(cells: &Cells, way: &str, activity: &str) -> u64 {
    cells.get(&(way.to_owned(), activity.to_owned())).copied().unwrap_or(0)
}
