//! `unjank runs export`: runs for other programs.

use std::process::ExitCode;

use anyhow::Result;
use unjank_measure::RunRecord;
use unjank_measure::store::Filter;

use super::source::StoreArgs;
use crate::output;

/// Arguments of `unjank runs export`.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  unjank runs export > runs.jsonl
  unjank runs export last --format csv
  unjank runs export 20261121 | jq '.verdicts'

A JSON line is a whole run record (docs/run.schema.json). A CSV line is one
series: its run, name, labels, unit, n, missed and quantiles.")]
pub(crate) struct Args {
    /// Runs: ids or beginnings of ids, last, last~1 …, or files [default: the whole store]
    #[arg(value_name = "RUN")]
    runs: Vec<String>,
    /// The form
    #[arg(long, value_enum, default_value = "json")]
    format: Format,
    #[command(flatten)]
    store: StoreArgs,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
enum Format {
    /// One record a line
    Json,
    /// One series a line
    Csv,
}

/// Prints one run after the other, so that a large store needs little memory.
pub(crate) fn run(args: &Args) -> Result<ExitCode> {
    let names = if args.runs.is_empty() {
        let entries = args.store.open()?.list(&Filter::default())?;
        entries.into_iter().rev().map(|entry| entry.id).collect()
    } else {
        args.runs.clone()
    };
    if args.format == Format::Csv {
        output::print(&line(&COLUMNS.map(str::to_owned)))?;
    }
    for name in &names {
        let record = args.store.find(name)?;
        match args.format {
            Format::Json => output::print(&serde_json::to_string(&record)?)?,
            Format::Csv => {
                for row in rows(&record) {
                    output::print(&line(&row))?;
                }
            }
        }
    }
    Ok(ExitCode::SUCCESS)
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

/// One row for each series; quantiles of an empty one are empty.
fn rows(record: &RunRecord) -> Vec<[String; 15]> {
    let row = |series: &unjank_measure::SeriesRecord| {
        let labels: Vec<String> =
            series.labels.iter().map(|(name, value)| format!("{name}={value}")).collect();
        let quantile = |pick: fn(&unjank_measure::Summary) -> u64| {
            series.summary.as_ref().map(|summary| pick(summary).to_string()).unwrap_or_default()
        };
        let unit = serde_json::to_value(series.unit).ok();
        [
            record.id.clone(),
            record.started_at.clone(),
            record.command.clone(),
            series.name.clone(),
            labels.join(" "),
            unit.and_then(|unit| Some(unit.as_str()?.to_owned())).unwrap_or_default(),
            series.n.to_string(),
            series.missed.to_string(),
            quantile(|s| s.min),
            quantile(|s| s.p50),
            quantile(|s| s.p90),
            quantile(|s| s.p99),
            quantile(|s| s.p99_9),
            quantile(|s| s.p99_99),
            quantile(|s| s.max),
        ]
    };
    record.findings.series.iter().map(row).collect()
}

/// A line of RFC 4180, without its end.
fn line(fields: &[String]) -> String {
    let quoted = |field: &String| {
        if field.contains([',', '"', '\n', '\r']) {
            format!("\"{}\"", field.replace('"', "\"\""))
        } else {
            field.clone()
        }
    };
    fields.iter().map(quoted).collect::<Vec<_>>().join(",")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_with_commas_and_quotes_are_quoted() {
        let fields = ["plain", "a,b", "say \"hi\"", ""].map(str::to_owned);
        assert_eq!(line(&fields), "plain,\"a,b\",\"say \"\"hi\"\"\",");
    }
}
