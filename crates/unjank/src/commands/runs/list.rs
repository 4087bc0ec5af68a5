//! `unjank runs list`: lists the stored runs.

use std::process::ExitCode;

use anyhow::Result;
use comfy_table::{CellAlignment, Table, presets};
use unjank_measure::store::{Entry, Filter};
use unjank_report::visible;

use super::source::StoreArgs;
use crate::{output, values};

/// Arguments of `unjank runs list`.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  unjank runs list
  unjank runs list --command jitter --limit 5
  unjank runs list --json | jq -r '.[].id'")]
pub(crate) struct Args {
    /// Only runs of this command: checkup, jitter, 'jitter native' …
    #[arg(long, value_name = "COMMAND")]
    command: Option<String>,
    /// Only the newest N runs
    #[arg(long, value_name = "N", default_value = "all", value_parser = values::rows)]
    limit: usize,
    /// Print the list as JSON
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    store: StoreArgs,
}

/// Prints the list.
pub(crate) fn run(args: &Args) -> Result<ExitCode> {
    let store = args.store.open()?;
    let limit = u32::try_from(args.limit).ok();
    let filter = Filter { command: args.command.clone(), limit, ..Filter::default() };
    let entries = store.list(&filter)?;
    if args.json {
        output::print(&output::json(&entries)?)?;
    } else if entries.is_empty() {
        let of = args.command.as_ref().map_or_else(String::new, |command| format!(" of {command}"));
        let line = format!("no run{of} in {}", store.path().display());
        output::print(&visible(&line))?;
        args.store.tell_of_others();
    } else {
        output::print(&table(&entries))?;
    }
    Ok(ExitCode::SUCCESS)
}

/// One line for each run.
pub(super) fn table(entries: &[Entry]) -> String {
    let mut table = Table::new();
    table.load_style(presets::NOTHING).set_header(["run", "command", "took", "machine"]);
    for entry in entries {
        let labels = entry.labels.iter().map(|label| format!(" [{label}]"));
        let command = entry.command.clone() + &labels.collect::<String>();
        let row = [&entry.id, &command, &entry.elapsed.to_string(), &entry.host];
        table.add_row(row.map(|cell| visible(cell).into_owned()));
    }
    if let Some(took) = table.column_mut(2) {
        took.set_cell_alignment(CellAlignment::Right);
    }
    let lines: Vec<String> = table.lines().map(|line| line.trim().to_owned()).collect();
    lines.join("\n")
}
