//! `unjank runs export`: prints runs in the formats of other programs.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::{Result, bail};
use unjank_host::Error;
use unjank_measure::compare::full_name;
use unjank_measure::store::Filter;
use unjank_measure::{RunRecord, SeriesRecord};

use super::fleet::{self, DataSet};
use super::open_metrics::OpenMetrics;
use super::source::StoreArgs;
use crate::output;

/// Arguments of `unjank runs export`.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  unjank runs export > runs.jsonl
  unjank runs export last --to csv
  unjank runs export last --to hgrm --series lock/park_wake
  unjank runs export --to openmetrics > runs.om
  unjank runs export 20261121 | jq '.verdicts'
  unjank runs export --parquet fleet/         # for unjank.fleet in Python, DuckDB or Spark

A JSON line is a whole run record (docs/run.schema.json). A CSV line is one
series: its run, name, labels, unit, n, missed and quantiles; quantiles that n
does not bound are empty; line breaks in names are escapes. hgrm is the
percentile distribution of one series, as HdrHistogram's plotter reads it.
OpenMetrics has every number in its base unit (seconds, bytes). The Parquet data set has the
samples in buckets that can be added up over devices.

A damaged run is reported, and the others are exported.")]
pub(crate) struct Args {
    /// Runs: ids or beginnings of ids, last, last~1 …, or files [default: the whole store]
    #[arg(value_name = "RUN")]
    runs: Vec<String>,
    /// The output format
    #[arg(long = "to", value_name = "FORMAT", value_enum, default_value = "json")]
    format: Format,
    /// Write a Parquet data set for fleets below this directory instead of printing
    #[arg(long, value_name = "DIR", conflicts_with_all = ["format", "series"])]
    parquet: Option<PathBuf>,
    /// The name of this device in the data set [default: a hash of /etc/machine-id]
    #[arg(long, value_name = "NAME", requires = "parquet")]
    device_name: Option<String>,
    /// Only this series, or all below this name (csv, hgrm)
    #[arg(long, value_name = "NAME")]
    series: Option<String>,
    #[command(flatten)]
    store: StoreArgs,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
enum Format {
    /// One record per line
    Json,
    /// One series per line
    Csv,
    /// One series, from its smallest sample to its largest
    Hgrm,
    /// Quantiles, facts and answers for Prometheus, with the time of each run
    Openmetrics,
}

/// Prints one run after the other, so that a large store needs little memory.
pub(crate) fn run(args: &Args) -> Result<ExitCode> {
    let names = if args.runs.is_empty() {
        let entries = args.store.open()?.list(&Filter::default())?;
        entries.into_iter().rev().map(|entry| entry.id).collect()
    } else {
        args.runs.clone()
    };
    if let Some(top) = &args.parquet {
        return data_set(args, &names, top);
    }
    let series = args.series.as_deref();
    match args.format {
        Format::Json | Format::Openmetrics if series.is_some() => {
            bail!(Error::Invalid("--series needs --to csv or hgrm: others hold whole runs".into()))
        }
        Format::Hgrm if names.len() != 1 => {
            bail!(Error::Invalid(format!("hgrm takes one run, not {}", names.len())))
        }
        Format::Json | Format::Hgrm | Format::Openmetrics => {}
        Format::Csv => output::print(&line(&COLUMNS)?)?,
    }
    let mut metrics = OpenMetrics::default();
    let mut failure = None;
    for name in &names {
        match render(name, args, &mut metrics) {
            Ok(Some(text)) => output::print(&text)?,
            Ok(None) => {}
            Err(error) => {
                if let Some(earlier) = failure.replace(error) {
                    output::remark(&format!("error: {earlier:#}"));
                }
            }
        }
    }
    if args.format == Format::Openmetrics {
        output::print(&metrics.text())?;
    }
    failure.map_or(Ok(ExitCode::SUCCESS), Err)
}

/// Writes runs as a Parquet data set, day by day, so that a large store needs little memory.
fn data_set(args: &Args, names: &[String], top: &Path) -> Result<ExitCode> {
    let device = args.device_name.clone().map_or_else(fleet::device, Ok)?;
    let mut failures = Vec::new();
    let mut days: BTreeMap<String, Vec<&str>> = BTreeMap::new();
    for name in names {
        match args.store.find(name) {
            Ok(record) => days.entry(fleet::day(&record)).or_default().push(name),
            Err(error) => failures.push(error),
        }
    }
    let mut rows = 0;
    for names in days.values() {
        let mut set = DataSet::of(&device);
        for name in names {
            let added = args.store.find(name).and_then(|record| set.add(&record));
            failures.extend(added.err());
        }
        rows += set.write(top)?;
    }
    output::remark(&format!("{rows} rows of {device} are in {}", top.display()));
    let last = failures.pop();
    for error in failures {
        output::remark(&format!("error: {error:#}"));
    }
    last.map_or(Ok(ExitCode::SUCCESS), Err)
}

/// One run in the chosen format; `None` if it is added to the metrics, which hold all runs.
fn render(name: &str, args: &Args, metrics: &mut OpenMetrics) -> Result<Option<String>> {
    let series = args.series.as_deref();
    Ok(Some(match args.format {
        // In JSON, line ends occur between tokens only.
        Format::Json => {
            let text = args.store.find_text(name)?;
            unjank_report::json(text.trim()).replace(['\n', '\r'], " ")
        }
        Format::Csv => rows(&args.store.find(name)?, series)?,
        Format::Hgrm => distribution(only(&args.store.find(name)?, series)?)?,
        Format::Openmetrics => {
            metrics.add(&args.store.find(name)?);
            return Ok(None);
        }
    }))
}

const COLUMNS: [&str; 15] = [
    "run",
    "started_at",
    "command",
    "series",
    "labels",
    "unit",
    "n",
    "missed",
    "min",
    "p50",
    "p90",
    "p99",
    "p99.9",
    "p99.99",
    "max",
];

/// One row for each series. A quantile that the samples cannot tell from the
/// maximum is empty.
fn rows(record: &RunRecord, wanted: Option<&str>) -> Result<String> {
    let mut rows = String::new();
    for series in record.findings.series.iter().filter(|series| is_wanted(series, wanted)) {
        let labels: Vec<String> =
            series.labels.iter().map(|(name, value)| format!("{name}={value}")).collect();
        let quantiles = match &series.summary {
            Some(summary) => {
                let [p50, p90, p99, p99_9, p99_99] = series.quantiles_known();
                [Some(summary.min), p50, p90, p99, p99_9, p99_99, Some(summary.max)]
                    .map(|value| value.map_or_else(String::new, |value| value.to_string()))
            }
            None => Default::default(),
        };
        let labels = labels.join(" ");
        let names = [&record.id, &record.started_at, &record.command, &series.name, &labels];
        let mut row: Vec<String> = names.into_iter().map(|name| no_formula(name)).collect();
        let counts = [series.n.to_string(), series.missed.to_string()];
        row.extend([series.unit.name().to_owned()].into_iter().chain(counts).chain(quantiles));
        rows.push_str(&line(&row)?);
    }
    Ok(rows)
}

/// A cell of text. A spreadsheet computes one that begins as a formula, and formulas start programs
/// and open addresses; a quote makes it text.
fn no_formula(text: &str) -> String {
    let quote = if text.starts_with(['=', '+', '-', '@', '\t', '\r']) { "'" } else { "" };
    format!("{quote}{text}")
}

/// A line of CSV, with its line end. A name cannot add a line or steer a terminal.
fn line(fields: &[impl AsRef<str>]) -> Result<String> {
    let mut writer = csv::Writer::from_writer(Vec::new());
    let fields = fields.iter().map(|field| unjank_report::one_line(field.as_ref()));
    writer.write_record(fields.map(|field| field.into_owned().into_bytes()))?;
    Ok(String::from_utf8(writer.into_inner()?)?)
}

/// Matches the name, with or without labels, or a leading part of the path.
fn is_wanted(series: &SeriesRecord, wanted: Option<&str>) -> bool {
    wanted.is_none_or(|wanted| {
        let below = series.name.strip_prefix(wanted).is_some_and(|rest| rest.starts_with('/'));
        below || series.name == wanted || full_name(&series.name, &series.labels) == wanted
    })
}

/// The single series that matches.
fn only<'a>(record: &'a RunRecord, wanted: Option<&str>) -> Result<&'a SeriesRecord> {
    let all = &record.findings.series;
    let mut series: Vec<&SeriesRecord> = all.iter().filter(|s| is_wanted(s, wanted)).collect();
    if let [series] = series.as_slice() {
        return Ok(series);
    }
    if series.is_empty() {
        series = all.iter().collect();
    }
    let names: Vec<String> = series.iter().map(|s| full_name(&s.name, &s.labels)).collect();
    bail!(Error::Invalid(format!(
        "hgrm takes one series; choose it with --series from {}",
        names.join("; ")
    )))
}

/// The percentile distribution, in the text format of HdrHistogram's own tools.
fn distribution(series: &SeriesRecord) -> Result<String> {
    let histogram = series.histogram()?;
    let mut text = "       Value     Percentile TotalCount 1/(1-Percentile)\n\n".to_owned();
    let mut so_far = 0;
    for step in histogram.iter_quantiles(5) {
        so_far += step.count_since_last_iteration();
        let (value, quantile) = (step.value_iterated_to(), step.quantile_iterated_to());
        write!(text, "{value:12} {quantile:14.12} {so_far:10}")?;
        if quantile < 1.0 {
            write!(text, " {:14.2}", 1.0 / (1.0 - quantile))?;
        }
        text.push('\n');
    }
    let (mean, deviation) = (histogram.mean(), histogram.stdev());
    writeln!(text, "#[Mean    = {mean:12.3}, StdDeviation   = {deviation:12.3}]")?;
    writeln!(text, "#[Max     = {:12}, Total count    = {:12}]", histogram.max(), histogram.len())?;
    Ok(text)
}

#[cfg(test)]
mod tests {
    use unjank_host::Nanos;
    use unjank_measure::Series;

    use super::*;

    #[test]
    fn fields_with_commas_and_quotes_are_quoted() {
        let fields = ["plain", "a,b", "say \"hi\"", ""];
        assert_eq!(line(&fields).unwrap(), "plain,\"a,b\",\"say \"\"hi\"\"\",\n");
        assert_eq!(line(&["a\nb,c\u{202e}"]).unwrap(), "\"a\\nb,c\\u{202e}\"\n");
    }

    #[test]
    fn text_is_no_formula() {
        for (text, cell) in [
            ("=HYPERLINK(\"http://x\")", "'=HYPERLINK(\"http://x\")"),
            ("+1", "'+1"),
            ("-1", "'-1"),
            ("@SUM(1)", "'@SUM(1)"),
            ("\t=1", "'\t=1"),
            ("\r=1", "'\r=1"),
            ("lock/park=1", "lock/park=1"),
            ("", ""),
        ] {
            assert_eq!(no_formula(text), cell);
        }
    }

    #[test]
    fn a_quantile_that_few_samples_do_not_tell_is_empty() {
        let record = |n: u64| {
            let mut series = Series::new("test");
            (1..=n).for_each(|value| series.record(Nanos(value)));
            let json = serde_json::json!({
                "schema": "unjank.run/1", "id": "x", "tool": { "version": "" }, "command": "y",
                "started_at": "z", "elapsed": 0, "host": {}, "settings": {},
            });
            let mut record: RunRecord = serde_json::from_value(json).unwrap();
            record.findings.series.push(series.finish());
            record
        };
        assert_eq!(rows(&record(16), None).unwrap(), "x,z,y,test,,ns,16,0,1,8,15,,,,16\n");
        assert_eq!(rows(&record(100), None).unwrap(), "x,z,y,test,,ns,100,0,1,50,90,99,,,100\n");
        assert_eq!(rows(&record(0), None).unwrap(), "x,z,y,test,,ns,0,0,,,,,,,\n");
        let mut hostile = RunRecord { started_at: "@a".into(), command: "=b".into(), ..record(0) };
        hostile.findings.series[0].name = "+c".to_owned();
        hostile.findings.series[0].labels.insert("-d".to_owned(), "1".to_owned());
        assert_eq!(rows(&hostile, None).unwrap(), "x,'@a,'=b,'+c,'-d=1,ns,0,0,,,,,,,\n");
    }

    #[test]
    fn a_series_is_wanted_by_its_name_its_labels_or_its_folder() {
        let series = Series::new("lock/park/round_trip").with_label("cpu", "0").finish();
        for name in ["lock/park/round_trip", "lock/park", "lock", "lock/park/round_trip (cpu=0)"] {
            assert!(is_wanted(&series, Some(name)), "{name}");
        }
        for name in ["lock/par", "park", "lock/park/", "lock/park/round_trip (cpu=1)", ""] {
            assert!(!is_wanted(&series, Some(name)), "{name}");
        }
    }

    #[test]
    fn a_distribution_ends_with_its_largest_sample() {
        let mut series = Series::new("test");
        (1..=1_000).for_each(|value| series.record(Nanos(value)));
        let text = distribution(&series.finish()).unwrap();
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(lines[0], "       Value     Percentile TotalCount 1/(1-Percentile)");
        assert_eq!(lines[2], "           1 0.000000000000          1           1.00");
        assert!(lines.contains(&"         500 0.500000000000        500           2.00"), "{text}");
        assert_eq!(lines[lines.len() - 3], "        1000 1.000000000000       1000");
    }
}
