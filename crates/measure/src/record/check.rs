//! Checks of records from outside.

use super::{Cell, RunRecord, SeriesRecord, Summary, Table};

/// The longest name, command or id.
const LONGEST_NAME: usize = 300;

/// Checks a record's consistency; the error is the first fault.
///
/// Free text, such as a cause that names a thread, may hold any characters: the
/// code that prints it escapes them.
pub(super) fn check(record: &RunRecord) -> Result<(), String> {
    id(&record.id)?;
    name("command", &record.command)?;
    record
        .started_at
        .parse::<jiff::Timestamp>()
        .map_err(|_| format!("started_at is {:?}, which is not a date", record.started_at))?;
    let findings = &record.findings;
    findings.series.iter().try_for_each(series)?;
    for fact in &findings.facts {
        name("fact", &fact.name)?;
        ordered(&fact.name, fact.interval)?;
    }
    for curve in &findings.curves {
        name("curve", &curve.name)?;
        for point in &curve.points {
            ordered(&curve.name, point.interval)?;
        }
    }
    findings.tables.iter().try_for_each(table)?;
    for verdict in &findings.verdicts {
        for quantity in verdict.measured.iter().chain(&verdict.effect) {
            ordered(&verdict.subject, quantity.interval)?;
        }
    }
    Ok(())
}

/// Allows only characters without a meaning in shells, paths and patterns.
/// `last` is the selector of the newest run.
fn id(id: &str) -> Result<(), String> {
    let plain = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '_';
    let starts = id.starts_with(|c: char| c.is_ascii_alphanumeric());
    if !starts || id.len() > LONGEST_NAME || !id.chars().all(plain) || id == "last" {
        return Err(format!(
            "{id:?} is not an id: letters, digits, - and _ only, and not \"last\""
        ));
    }
    Ok(())
}

fn name(what: &str, name: &str) -> Result<(), String> {
    if name.is_empty() || name.len() > LONGEST_NAME {
        return Err(format!("a {what} has a name of {} bytes", name.len()));
    }
    if name.chars().any(char::is_control) {
        return Err(format!("a {what} has the name {name:?}, with control characters"));
    }
    Ok(())
}

fn series(series: &SeriesRecord) -> Result<(), String> {
    name("series", &series.name)?;
    let wrong = |what: &str| Err(format!("series {}: {what}", series.name));
    series.histogram().map_err(|e| e.to_string())?;
    match &series.summary {
        Some(summary) if series.n > 0 => {
            if !rises(summary) {
                return wrong("its quantiles are not ascending");
            }
        }
        None if series.n == 0 => {}
        _ => return wrong("its summary contradicts its number of samples"),
    }
    if !series.slices.is_sorted_by(|one, next| one.at < next.at) {
        return wrong("its slices are not in order");
    }
    let sliced = series.slices.iter().try_fold(0_u64, |sum, slice| sum.checked_add(slice.n));
    if sliced.is_none_or(|sliced| sliced > series.n) {
        return wrong("its slices hold more samples than the series");
    }
    if !series.repetitions.is_sorted_by(|one, next| one.at <= next.at) {
        return wrong("its repetitions are not in order");
    }
    let repeated = series.repetitions.iter().try_fold(0_u64, |sum, it| sum.checked_add(it.n));
    if !series.repetitions.is_empty() && repeated != Some(series.n) {
        return wrong("its repetitions do not add up to its samples");
    }
    series.by_start().map_err(|e| e.to_string())?;
    Ok(())
}

fn table(table: &Table) -> Result<(), String> {
    name("table", &table.name)?;
    for row in &table.rows {
        if row.len() != table.columns.len() {
            let (cells, columns) = (row.len(), table.columns.len());
            return Err(format!(
                "table {}: a row has {cells} cells for {columns} columns",
                table.name
            ));
        }
        for cell in row {
            if let Cell::Number(number) = cell {
                ordered(&table.name, number.interval)?;
            }
        }
    }
    Ok(())
}

fn rises(summary: &Summary) -> bool {
    let mut values = vec![summary.min];
    values.extend(summary.quantiles());
    values.push(summary.max);
    values.is_sorted() && summary.intervals.iter().flatten().all(|[low, high]| low <= high)
}

fn ordered(name: &str, interval: Option<[f64; 2]>) -> Result<(), String> {
    match interval {
        Some([low, high]) if low > high => {
            Err(format!("{name}: its interval has its ends swapped"))
        }
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};
    use unjank_host::{Machine, Nanos, Timestamp};

    use super::*;
    use crate::record::{Run, Start, Tool};
    use crate::{Fact, Findings, Series, Unit};

    fn record() -> Value {
        let start = Timestamp::from_nanos(0);
        let mut series = Series::new("test/series").with_course(start, Nanos(2_400));
        for i in 0..1_000 {
            series.record_at(Timestamp::from_nanos(i * 2), Nanos(i + 1));
        }
        let mut findings = Findings::default();
        findings.series.push(series.finish());
        findings.facts.push(Fact::new("test/fact", 1.5, Unit::Ratio).with_interval([1.0, 2.0], 9));
        let run = Run {
            tool: Tool { version: "0.1.0".to_owned(), commit: None },
            command: "test".to_owned(),
            host: Machine::default(),
            settings: [].into(),
            findings,
            labels: Vec::new(),
        };
        serde_json::to_value(Start::now().finish(Timestamp::now(), run)).unwrap()
    }

    /// The fault found in a record with one value changed.
    fn changed(pointer: &str, value: Value) -> String {
        let mut record = record();
        *record.pointer_mut(pointer).unwrap() = value;
        let error = RunRecord::import(&record.to_string(), "x.json").unwrap_err().to_string();
        error.strip_prefix("x.json is not a run record: ").unwrap().to_owned()
    }

    #[test]
    fn a_good_record_passes_whatever_its_threads_are_called() {
        let mut record = record();
        record["warnings"] = json!(["preempted by \u{1b}[2J for 3 ms"]);
        RunRecord::import(&record.to_string(), "x.json").unwrap();
    }

    #[test]
    fn each_kind_of_damage_is_named() {
        let cases = [
            ("/id", json!("last"), "\"last\" is not an id"),
            ("/id", json!("a b"), "\"a b\" is not an id"),
            ("/id", json!("-x"), "\"-x\" is not an id"),
            ("/command", json!(""), "a command has a name of 0 bytes"),
            ("/command", json!("\u{1b}[2J"), "a command has the name \"\\u{1b}[2J\""),
            ("/started_at", json!("yesterday"), "started_at is \"yesterday\""),
            ("/series/0/n", json!(999), "series test/series: its histogram is damaged"),
            ("/series/0/histogram", json!("HIST"), "series test/series: its histogram is damaged"),
            ("/series/0/summary", json!(null), "series test/series: its summary"),
            (
                "/series/0/summary/p99",
                json!(1),
                "series test/series: its quantiles are not ascending",
            ),
            ("/series/0/slices/1/at", json!(0), "series test/series: its slices are not in order"),
            ("/series/0/slices/1/n", json!(u64::MAX), "series test/series: its slices hold more"),
            (
                "/facts/0/interval",
                json!([2.0, 1.0]),
                "test/fact: its interval has its ends swapped",
            ),
        ];
        for (pointer, value, expected) in cases {
            let said = changed(pointer, value);
            assert!(said.starts_with(expected), "{pointer}: {said}");
        }
    }
}
