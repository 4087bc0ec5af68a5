//! Runs in the text format of `OpenMetrics`, for Prometheus and its like
//! (<https://prometheus.io/docs/specs/om/open_metrics_spec/>).
//!
//! Numbers are in base units: seconds, bytes. Each sample has the start of its run as its time, so
//! `promtool tsdb create-blocks-from openmetrics` can fill in what happened before.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use jiff::Timestamp;
use unjank_measure::record::QUANTILES;
use unjank_measure::{RunRecord, Unit};

/// All metrics of some runs, each name once.
#[derive(Debug, Default)]
pub(super) struct OpenMetrics {
    families: BTreeMap<Family, String>,
}

/// A name, and what its samples are.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
struct Family {
    name: String,
    kind: &'static str,
    unit: &'static str,
}

impl OpenMetrics {
    /// Adds the quantiles of all series, all facts, and all answers of a run.
    pub(super) fn add(&mut self, record: &RunRecord) {
        let time = record.started_at.parse::<Timestamp>().ok();
        let time = time
            .map_or_else(String::new, |time| format!(" {:.3}", time.as_millisecond() as f64 / 1e3));
        let of_run = [("run", record.id.as_str()), ("command", record.command.as_str())];
        for series in &record.findings.series {
            let (unit, _) = base(series.unit, 0.0);
            let family = family(&series.name, "summary", unit);
            let labels = labels(of_run.into_iter().chain(pairs(&series.labels)));
            let samples = self.families.entry(family.clone()).or_default();
            let quantiles = QUANTILES.into_iter().zip(series.quantiles_known());
            let largest = series.summary.map(|summary| (1.0, summary.max));
            let known = quantiles.filter_map(|(quantile, value)| Some((quantile, value?)));
            for (quantile, value) in known.chain(largest) {
                let (_, value) = base(series.unit, value as f64);
                let name = &family.name;
                let _fits =
                    writeln!(samples, "{name}{{{labels},quantile=\"{quantile}\"}} {value}{time}");
            }
            let _fits = writeln!(samples, "{}_count{{{labels}}} {}{time}", family.name, series.n);
        }
        for fact in &record.findings.facts {
            let (unit, value) = base(fact.unit, fact.value);
            let family = family(&fact.name, "gauge", unit);
            let labels = labels(of_run.into_iter().chain(pairs(&fact.labels)));
            let line = format!("{}{{{labels}}} {value}{time}\n", family.name);
            self.families.entry(family).or_default().push_str(&line);
        }
        for verdict in &record.findings.verdicts {
            let family = Family { name: "unjank_answer".to_owned(), kind: "gauge", unit: "" };
            let about = [("subject", verdict.subject.as_str()), ("answer", verdict.answer.words())];
            let labels = labels(of_run.into_iter().chain(about).chain(pairs(&verdict.labels)));
            let line = format!("unjank_answer{{{labels}}} 1{time}\n");
            self.families.entry(family).or_default().push_str(&line);
        }
    }

    /// The whole text, with its end.
    pub(super) fn text(&self) -> String {
        let mut text = String::new();
        for (Family { name, kind, unit }, samples) in &self.families {
            let _fits = writeln!(text, "# TYPE {name} {kind}");
            if !unit.is_empty() {
                let _fits = writeln!(text, "# UNIT {name} {unit}");
            }
            text.push_str(samples);
        }
        text + "# EOF"
    }
}

/// The base unit, and the value in it.
fn base(unit: Unit, value: f64) -> (&'static str, f64) {
    match unit {
        Unit::Nanoseconds => ("seconds", value / 1e9),
        Unit::Bytes => ("bytes", value),
        Unit::Pages => ("pages", value),
        Unit::Ratio | Unit::Times | Unit::Change => ("ratio", value),
        Unit::Hertz => ("hertz", value),
        Unit::Joules => ("joules", value),
        Unit::WattHours => ("joules", value * 3600.0),
        Unit::Watts => ("watts", value),
        Unit::PerSecond => ("per_second", value),
        Unit::BytesPerSecond => ("bytes_per_second", value),
        Unit::Count => ("", value),
    }
}

/// `jitter/native/fifo` as `unjank_jitter_native_fifo_seconds`. A name may be that of a series and
/// of a fact, so those of facts say what they are.
fn family(name: &str, kind: &'static str, unit: &'static str) -> Family {
    let plain = |letter: char| if letter.is_ascii_alphanumeric() { letter } else { '_' };
    let mut name: String = format!("unjank_{name}").chars().map(plain).collect();
    if kind == "gauge" {
        name.push_str("_value");
    }
    if !unit.is_empty() {
        name = format!("{name}_{unit}");
    }
    Family { name, kind, unit }
}

fn pairs(labels: &BTreeMap<String, String>) -> impl Iterator<Item = (&str, &str)> {
    labels.iter().map(|(name, value)| (name.as_str(), value.as_str()))
}

/// Labels between braces, with their values escaped; a later one of the same name gets another.
fn labels<'a>(pairs: impl Iterator<Item = (&'a str, &'a str)>) -> String {
    let plain = |letter: char| if letter.is_ascii_alphanumeric() { letter } else { '_' };
    let mut used: Vec<String> = Vec::new();
    let mut text = String::new();
    for (name, value) in pairs {
        let mut name: String = name.chars().map(plain).collect();
        let is_number = name.starts_with(|letter: char| letter.is_ascii_digit());
        if is_number || name.is_empty() || name == "quantile" {
            name.insert(0, '_');
        }
        while used.contains(&name) {
            name.push('_');
        }
        let value = value.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n");
        let comma = if used.is_empty() { "" } else { "," };
        let _fits = write!(text, "{comma}{name}=\"{value}\"");
        used.push(name);
    }
    text
}

#[cfg(test)]
mod tests {
    use unjank_host::Nanos;
    use unjank_measure::{Fact, Series};

    use super::*;

    fn record(id: &str) -> RunRecord {
        let json = serde_json::json!({
            "schema": "unjank.run/1", "id": id, "tool": { "version": "" }, "command": "lock probe",
            "started_at": "2025-11-21T10:15:00Z", "elapsed": 0, "host": {}, "settings": {},
        });
        serde_json::from_value(json).expect("a record")
    }

    #[test]
    fn numbers_are_in_base_units_and_each_name_stands_together() {
        let mut metrics = OpenMetrics::default();
        for id in ["one", "two"] {
            let mut record = record(id);
            let mut series = Series::new("lock/park wake");
            (1..=10).for_each(|_| series.record(Nanos(1_000)));
            record.findings.series.push(series.finish());
            record.findings.facts.push(Fact::new("lock/spin", 2.0, Unit::Count));
            metrics.add(&record);
        }
        let text = metrics.text();
        let lines: Vec<&str> = text.lines().collect();
        let run = |id: &str| format!("run=\"{id}\",command=\"lock probe\"");
        let expected = [
            "# TYPE unjank_lock_park_wake_seconds summary".to_owned(),
            "# UNIT unjank_lock_park_wake_seconds seconds".to_owned(),
            format!(
                "unjank_lock_park_wake_seconds{{{},quantile=\"0.5\"}} 0.000001 1763720100.000",
                run("one")
            ),
        ];
        assert_eq!(lines[..3], expected);
        assert!(lines.contains(&"# TYPE unjank_lock_spin_value gauge"), "{text}");
        let types = lines.iter().filter(|line| line.starts_with("# TYPE")).count();
        assert_eq!((types, lines.last()), (2, Some(&"# EOF")), "{text}");
    }

    #[test]
    fn hostile_labels_stay_labels() {
        let hostile = [("run", "a\"\n} 1"), ("run", "\\"), ("0-x", "y"), ("", "e"), ("", "f")];
        let text = labels(hostile.into_iter());
        assert_eq!(text, r#"run="a\"\n} 1",run_="\\",_0_x="y",_="e",__="f""#);
    }
}
