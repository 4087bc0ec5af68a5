//! `unjank incidents list`.

use std::collections::BTreeMap;
use std::process::ExitCode;

use anyhow::Result;
use comfy_table::{CellAlignment, Table, presets};
use serde::Serialize;
use unjank_measure::{RunRecord, Unit};
use unjank_report::visible;

use super::kept::{KeptArgs, cause_of};
use crate::{output, values};

/// Arguments of `unjank incidents list`.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  sudo unjank incidents list
  sudo unjank incidents list --limit 5
  sudo unjank incidents list --json | jq -r '.[].cause'")]
pub(crate) struct Args {
    /// Only the newest N incidents
    #[arg(long, value_name = "N", default_value = "all", value_parser = values::rows)]
    limit: usize,
    /// Print the list as JSON
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    kept: KeptArgs,
}

/// An incident in the list.
#[derive(Debug, Serialize)]
struct Line {
    id: String,
    started_at: String,
    trigger: String,
    thread: String,
    length_ns: f64,
    cause: String,
    /// All kept incidents with this cause.
    times: u64,
}

/// Prints the list.
pub(super) fn run(args: &Args) -> Result<ExitCode> {
    let kept = args.kept.open_existing()?;
    let records = kept.records()?;
    let mut times: BTreeMap<&str, u64> = BTreeMap::new();
    for record in &records {
        *times.entry(cause_of(record).unwrap_or_default()).or_default() += 1;
    }
    let shown = records.iter().take(args.limit);
    let lines: Vec<Line> = shown.map(|record| line(record, &times)).collect();
    if args.json {
        output::print(&output::json(&lines)?)?;
    } else if lines.is_empty() {
        output::print("no incident has been kept yet")?;
    } else {
        output::print(&table(&lines))?;
    }
    Ok(ExitCode::SUCCESS)
}

fn line(record: &RunRecord, times: &BTreeMap<&str, u64>) -> Line {
    let text = |name: &str| {
        let value = record.settings.get(name).and_then(|value| value.as_str());
        value.unwrap_or_default().to_owned()
    };
    let cause = text("cause");
    let length = record.settings.get("length").and_then(serde_json::Value::as_f64);
    Line {
        id: record.id.clone(),
        started_at: record.started_at.clone(),
        trigger: text("trigger"),
        thread: text("thread"),
        length_ns: length.unwrap_or_default(),
        times: times.get(cause.as_str()).copied().unwrap_or_default(),
        cause,
    }
}

/// One line for each incident.
fn table(lines: &[Line]) -> String {
    let mut table = Table::new();
    let header = ["incident", "noticed by", "thread", "held up", "by", "times"];
    table.load_style(presets::NOTHING).set_header(header);
    for line in lines {
        let length = Unit::Nanoseconds.show(line.length_ns);
        let times = line.times.to_string();
        let row = [&line.id, &line.trigger, &line.thread, &length, &line.cause, &times];
        table.add_row(row.map(|cell| visible(cell).into_owned()));
    }
    for right in [3, 5] {
        if let Some(column) = table.column_mut(right) {
            column.set_cell_alignment(CellAlignment::Right);
        }
    }
    let lines: Vec<String> = table.lines().map(|line| line.trim().to_owned()).collect();
    lines.join("\n")
}
