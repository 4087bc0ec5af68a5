//! `unjank runs show`: prints stored runs.

use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::Result;
use unjank_host::files::Destination;
use unjank_report::TerminalStyle;

use super::source::StoreArgs;
use crate::output;

/// Arguments of `unjank runs show`.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  unjank runs show last
  unjank runs show 20261121T1015 --html run.html
  unjank runs show last --all
  unjank runs show last~1 last --html both.html
  unjank runs show phone.json --markdown phone.md")]
pub(crate) struct Args {
    /// Runs: ids or beginnings of ids, last, last~1 …, or files with a record
    #[arg(required = true, value_name = "RUN")]
    runs: Vec<String>,
    /// Print all series, facts and curves, even those that the command did not
    /// print
    #[arg(long, conflicts_with_all = ["json", "markdown", "html"])]
    all: bool,
    /// Print the records as JSON
    #[arg(long, conflicts_with_all = ["markdown", "html"])]
    json: bool,
    /// Write all runs as Markdown instead; - is stdout
    #[arg(long, value_name = "FILE", conflicts_with = "html")]
    markdown: Option<PathBuf>,
    /// Write one HTML page with all runs instead; - is stdout
    #[arg(long, value_name = "FILE")]
    html: Option<PathBuf>,
    #[command(flatten)]
    store: StoreArgs,
}

/// Prints the runs, or writes one file with all of them.
pub(crate) fn run(args: &Args) -> Result<ExitCode> {
    if let Some(path) = args.html.as_ref().or(args.markdown.as_ref()) {
        let find = |name: &String| args.store.find(name);
        let records = args.runs.iter().map(find).collect::<Result<Vec<_>>>()?;
        let text = match args.html {
            Some(_) => unjank_report::html(&records),
            None => records.iter().map(unjank_report::markdown).collect(),
        };
        output::unless_reader_left(Destination::open(path)?.write(text.as_bytes()))?;
        return Ok(ExitCode::SUCCESS);
    }
    for name in &args.runs {
        if args.json {
            output::print(&unjank_report::json(&args.store.find_text(name)?))?;
        } else {
            let style = TerminalStyle { all: args.all, ..output::terminal_style() };
            output::report(&args.store.find(name)?, &style)?;
        }
    }
    Ok(ExitCode::SUCCESS)
}
