//! The JSON of the Java Microbenchmark Harness (`-rf json`).
//!
//! The mode `sample` has the times of single calls, which become a series. The other modes have one
//! number for each iteration: their mean becomes a fact, with its 95 % interval over the iterations
//! (JMH itself prints one of 99.9 %).

use std::collections::BTreeMap;

use serde::Deserialize;
use serde_json::Value;
use unjank_host::Nanos;

use super::foreign::{Foreign, count, head, nanos};
use crate::findings::Findings;
use crate::record::{Fact, Unit};
use crate::series::Series;
use crate::stats::mean_interval;

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Benchmark {
    jmh_version: String,
    #[serde(rename = "benchmark")]
    name: String,
    mode: String,
    params: Option<BTreeMap<String, String>>,
    primary_metric: Metric,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Metric {
    /// `"NaN"` where there is none.
    score: Value,
    score_unit: String,
    /// Values by fork and iteration.
    raw_data: Option<Vec<Vec<Value>>>,
    /// Values and their numbers, by fork and iteration.
    raw_data_histogram: Option<Vec<Fork>>,
}

/// The iterations of a fork: values, and how often each was measured.
type Fork = Vec<Vec<(f64, u64)>>;

pub(super) fn is(text: &str) -> bool {
    text.trim_start().starts_with('[') && head(text).contains("\"jmhVersion\"")
}

pub(super) fn read(text: &str) -> Result<Foreign, String> {
    let benchmarks: Vec<Benchmark> =
        serde_json::from_str(text).map_err(|error| error.to_string())?;
    let mut findings = Findings::default();
    for benchmark in &benchmarks {
        benchmark.add(&mut findings)?;
    }
    let version = benchmarks.first().map(|first| first.jmh_version.clone());
    Ok(Foreign { tool: "jmh".to_owned(), version, began: None, elapsed: Nanos::ZERO, findings })
}

/// What a score measures, and the factor to this project's unit.
fn unit(text: &str) -> Option<(Unit, f64)> {
    let seconds = |unit: &str| match unit {
        "ns" => Some(1e-9),
        "us" => Some(1e-6),
        "ms" => Some(1e-3),
        "s" => Some(1.0),
        "min" => Some(60.0),
        "hr" => Some(3_600.0),
        "day" => Some(86_400.0),
        _ => None,
    };
    if let Some(time) = text.strip_suffix("/op") {
        return Some((Unit::Nanoseconds, seconds(time)? * 1e9));
    }
    Some((Unit::PerSecond, 1.0 / seconds(text.strip_prefix("ops/")?)?))
}

impl Benchmark {
    fn add(&self, findings: &mut Findings) -> Result<(), String> {
        let metric = &self.primary_metric;
        let Some((unit, factor)) = unit(&metric.score_unit) else {
            return Err(format!("{}: the unit {:?} is not known", self.name, metric.score_unit));
        };
        let name = format!("jmh/{}/{}", self.name, self.mode);
        if let Some(forks) = &metric.raw_data_histogram {
            let mut series = Series::new(name);
            for &(value, times) in forks.iter().flatten().flatten() {
                let time = nanos(value * factor)
                    .ok_or_else(|| format!("{}: a time of {value}", self.name))?;
                count(&mut series, time, times)?;
            }
            for (parameter, value) in self.params.iter().flatten() {
                series = series.with_label(parameter, value);
            }
            findings.series.push(series.finish());
        } else if let Some(score) = metric.score.as_f64() {
            let mut fact = Fact::new(name, score * factor, unit);
            let iterations = metric.raw_data.iter().flatten().flatten();
            let values: Vec<f64> =
                iterations.filter_map(Value::as_f64).map(|value| value * factor).collect();
            fact.n = Some(values.len() as u64);
            fact.interval = mean_interval(&values);
            for (parameter, value) in self.params.iter().flatten() {
                fact = fact.with_label(parameter, value);
            }
            findings.facts.push(fact);
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn samples_become_series_and_means_facts() {
        let foreign = read(include_str!("fixtures/jmh.json")).unwrap();
        assert_eq!(foreign.version.as_deref(), Some("1.37"));
        let findings = &foreign.findings;
        let [rate, time] = findings.facts.as_slice() else { panic!("{findings:?}") };
        assert_eq!((rate.name.as_str(), rate.unit), ("jmh/x.B.sum/thrpt", Unit::PerSecond));
        assert!((rate.value - 25.168_794e6).abs() < 10.0, "{}", rate.value);
        assert_eq!((time.unit, time.n), (Unit::Nanoseconds, Some(6)));
        assert!((time.value - 81.169).abs() < 0.01, "{}", time.value);
        assert_eq!(time.labels["size"], "64");
        let [low, high] = time.interval.unwrap();
        assert!(low < time.value && time.value < high, "{time:?}");
        // JMH's own interval of 99.9 % is wider: 81 ± 209 ns.
        assert!((150.0..170.0).contains(&(high - low)), "{time:?}");
        let [sample] = findings.series.as_slice() else { panic!("{findings:?}") };
        assert_eq!(sample.summary.unwrap().p50, 50);
        assert!((20_200_000..=20_300_000).contains(&sample.summary.unwrap().max));
    }

    #[test]
    fn units_are_converted() {
        assert_eq!(unit("ms/op"), Some((Unit::Nanoseconds, 1e6)));
        assert_eq!(unit("ops/s"), Some((Unit::PerSecond, 1.0)));
        assert!(unit("ops/ns").is_some_and(|(_, factor)| (factor - 1e9).abs() < 1.0));
        for other in ["", "us", "B/op", "ops/week"] {
            assert_eq!(unit(other), None, "{other}");
        }
    }
}
