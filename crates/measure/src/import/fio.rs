//! `fio --output-format=json`, and `json+`, which has all samples.
//!
//! The names of its fields: `stat.c` of fio, `add_ddir_status_json`.

use std::collections::BTreeMap;

use jiff::Timestamp as Date;
use serde::Deserialize;
use unjank_host::Nanos;

use super::foreign::{Foreign, count, head, nanos};
use crate::findings::Findings;
use crate::record::{Fact, Unit};
use crate::series::Series;

#[derive(Deserialize)]
struct File {
    #[serde(rename = "fio version")]
    version: String,
    timestamp_ms: Option<i64>,
    jobs: Vec<Job>,
}

#[derive(Deserialize)]
struct Job {
    #[serde(rename = "jobname")]
    name: String,
    /// In milliseconds.
    #[serde(rename = "job_runtime")]
    runtime: Option<u64>,
    read: Option<Direction>,
    write: Option<Direction>,
    trim: Option<Direction>,
    sync: Option<Direction>,
    /// All of them, with `unified_rw_reporting`.
    mixed: Option<Direction>,
}

#[derive(Deserialize)]
struct Direction {
    iops: Option<f64>,
    bw_bytes: Option<f64>,
    /// From issue to completion; of fsync(2), fio knows only the whole.
    clat_ns: Option<Latency>,
    lat_ns: Option<Latency>,
}

#[derive(Deserialize)]
struct Latency {
    max: f64,
    #[serde(rename = "N")]
    n: u64,
    /// Values of quantiles in percent.
    percentile: Option<BTreeMap<String, f64>>,
    /// Numbers of samples, by their latency.
    bins: Option<BTreeMap<String, u64>>,
}

pub(super) fn is(text: &str) -> bool {
    text.trim_start().starts_with('{') && head(text).contains("\"fio version\"")
}

pub(super) fn read(text: &str) -> Result<Foreign, String> {
    let file: File = serde_json::from_str(text).map_err(|error| error.to_string())?;
    let mut findings = Findings::default();
    let mut named: BTreeMap<&str, usize> = BTreeMap::new();
    for job in &file.jobs {
        // Clones of a job (`numjobs`) have its name.
        let clones = named.entry(&job.name).or_default();
        *clones += 1;
        let label = if *clones == 1 { job.name.clone() } else { format!("{} {clones}", job.name) };
        for (name, direction) in job.directions() {
            direction.add(name, &label, &mut findings)?;
        }
    }
    let longest = file.jobs.iter().filter_map(|job| job.runtime).max().unwrap_or(0);
    let elapsed = Nanos(longest.saturating_mul(1_000_000));
    // The time stamp is that of the end.
    let end = file.timestamp_ms.and_then(|end| Date::from_millisecond(end).ok());
    let began = end.and_then(|end| end.checked_sub(std::time::Duration::from(elapsed)).ok());
    let version = file.version.trim_start_matches("fio-").to_owned();
    Ok(Foreign { tool: "fio".to_owned(), version: Some(version), began, elapsed, findings })
}

impl Job {
    fn directions(&self) -> impl Iterator<Item = (&'static str, &Direction)> {
        let all = [
            ("read", &self.read),
            ("write", &self.write),
            ("trim", &self.trim),
            ("sync", &self.sync),
            ("mixed", &self.mixed),
        ];
        all.into_iter().filter_map(|(name, direction)| Some((name, direction.as_ref()?)))
    }
}

impl Direction {
    fn add(&self, name: &str, job: &str, findings: &mut Findings) -> Result<(), String> {
        let rates = [
            ("iops", self.iops, Unit::PerSecond),
            ("bandwidth", self.bw_bytes, Unit::BytesPerSecond),
        ];
        for (what, rate, unit) in rates {
            let rate = rate.filter(|&rate| rate > 0.0);
            let rate = rate.map(|rate| Fact::new(format!("fio/{name}/{what}"), rate, unit));
            findings.facts.extend(rate.map(|fact| fact.with_label("job", job)));
        }
        let there: Vec<_> = [("clat", &self.clat_ns), ("lat", &self.lat_ns)]
            .into_iter()
            .filter_map(|(what, latency)| Some((what, latency.as_ref()?)))
            .filter(|(_, latency)| latency.n > 0)
            .collect();
        // What has all samples, else what has quantiles: clat_percentiles, lat_percentiles.
        let samples = there.iter().find_map(|(what, it)| Some((what, it, it.bins.as_ref()?)));
        if let Some((what, latency, bins)) = samples {
            let series = latency.series(&format!("fio/{name}/{what}"), job, bins)?;
            findings.series.push(series.finish());
            return Ok(());
        }
        let quantiles = there.iter().find(|(_, latency)| latency.percentile.is_some());
        if let Some((what, latency)) = quantiles.or(there.first()) {
            findings.facts.extend(latency.facts(&format!("fio/{name}/{what}"), job));
            findings.warn(
                "the file has quantiles only: with --output-format=json+, fio writes all samples",
            );
        }
        Ok(())
    }
}

impl Latency {
    fn series(
        &self,
        path: &str,
        job: &str,
        bins: &BTreeMap<String, u64>,
    ) -> Result<Series, String> {
        let mut series = Series::new(path).with_label("job", job);
        for (latency, &times) in bins {
            let latency: u64 = latency.parse().map_err(|_| format!("a bin of {latency:?} ns"))?;
            count(&mut series, Nanos(latency), times)?;
        }
        if series.n() == self.n {
            Ok(series)
        } else {
            Err(format!("{path} has {} samples in its bins, and claims {}", series.n(), self.n))
        }
    }

    fn facts(&self, path: &str, job: &str) -> Vec<Fact> {
        let mut quantiles: Vec<(f64, f64)> = self
            .percentile
            .iter()
            .flatten()
            .filter_map(|(percent, &value)| Some((percent.parse().ok()?, value)))
            .collect();
        // As text, the fifth would come after the fortieth.
        quantiles.sort_by(|(one, _), (other, _)| one.total_cmp(other));
        let quantiles =
            quantiles.into_iter().map(|(percent, value)| (format!("p{percent}"), value));
        let all = quantiles.chain([("max".to_owned(), self.max)]);
        let fact = |(what, value): (String, f64)| {
            let value = nanos(value)?.get() as f64;
            let fact = Fact::new(format!("{path}/{what}"), value, Unit::Nanoseconds);
            Some(Fact { n: Some(self.n), ..fact.with_label("job", job) })
        };
        all.filter_map(fact).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_samples_of_json_plus_are_read() {
        let foreign = read(include_str!("fixtures/fio-json-plus.json")).unwrap();
        let [clat] = foreign.findings.series.as_slice() else { panic!("{foreign:?}") };
        assert_eq!((clat.name.as_str(), clat.n), ("fio/read/clat", 1_024));
        assert_eq!(clat.labels["job"], "a");
        let p50 = clat.summary.unwrap().p50;
        assert!((50_000..80_000).contains(&p50), "{p50}");
        assert!(foreign.findings.warnings.is_empty());
        assert_eq!(foreign.version.as_deref(), Some("3.33"));
        assert!(foreign.began.is_some() && foreign.elapsed > Nanos::ZERO);
    }

    #[test]
    fn quantiles_of_json_become_facts() {
        let findings = read(include_str!("fixtures/fio.json")).unwrap().findings;
        assert!(findings.series.is_empty());
        for name in ["fio/read/clat/p99.9", "fio/read/clat/max", "fio/read/iops"] {
            assert!(findings.fact_named(name).unwrap().value > 0.0, "{name}");
        }
        assert_eq!(findings.fact_named("fio/read/clat/p50").unwrap().n, Some(1_024));
        let latencies = findings.facts.iter().filter(|fact| fact.name.contains("/clat/"));
        assert!(latencies.map(|fact| fact.value).is_sorted(), "{:?}", findings.facts);
        assert!(findings.warnings[0].contains("json+"));
    }

    #[test]
    fn whatever_latency_has_samples_is_read_and_clones_are_told_apart() {
        let job = r#"{"jobname": "a", "read": {"iops": 5, "clat_ns": {"max": 0, "N": 0},
            "lat_ns": {"max": 9, "N": 2, "bins": {"9": 2}}}, "mixed": {"iops": 7}}"#;
        let text = format!("{{\"fio version\": \"fio-3.33\", \"jobs\": [{job}, {job}]}}");
        let findings = read(&text).unwrap().findings;
        let series: Vec<_> =
            findings.series.iter().map(|one| (one.name.as_str(), &*one.labels["job"])).collect();
        assert_eq!(series, [("fio/read/lat", "a"), ("fio/read/lat", "a 2")]);
        assert_eq!(findings.fact_named("fio/mixed/iops").unwrap().value as u64, 7);
        assert!(findings.warnings.is_empty(), "{:?}", findings.warnings);
    }

    #[test]
    fn bins_that_do_not_add_up_are_damage() {
        let text = include_str!("fixtures/fio-json-plus.json");
        let damaged = text.replacen("\"bins\": {", "\"bins\": {\"77\": 5,", 1);
        assert!(read(&damaged).unwrap_err().contains("claims 1024"));
    }
}
