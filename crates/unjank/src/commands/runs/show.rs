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
  unjank runs show phone.json --markdown")]
pub(crate) struct Args {
    /// Runs: ids or beginnings of ids, last, last~1 …, or files with a record
    #[arg(required = true, value_name = "RUN")]
    runs: Vec<String>,
    /// Print all series, facts and curves, even those that the command did not
    /// print
    #[arg(long, conflicts_with_all = ["json", "markdown", "html"])]
    all: bool,
    /// Print the records as JSON
    #[arg(long, conflicts_with = "markdown")]
    json: bool,
    /// Print Markdown
    #[arg(long)]
    markdown: bool,
    /// Write one HTML page with all runs instead; - is stdout
    #[arg(long, value_name = "FILE", conflicts_with_all = ["json", "markdown"])]
    html: Option<PathBuf>,
    #[command(flatten)]
    store: StoreArgs,
}

/// Prints the runs, or writes the page.
pub(crate) fn run(args: &Args) -> Result<ExitCode> {
    if let Some(path) = &args.html {
        let find = |name: &String| args.store.find(name);
        let records = args.runs.iter().map(find).collect::<Result<Vec<_>>>()?;
        let page = unjank_report::html(&records);
        output::unless_reader_left(Destination::open(path)?.write(page.as_bytes()))?;
        return Ok(ExitCode::SUCCESS);
    }
    for name in &args.runs {
        if args.json {
            output::print(&unjank_report::json(&args.store.find_text(name)?))?;
        } else if args.markdown {
            output::print(&unjank_report::markdown(&args.store.find(name)?))?;
        } else {
            let style = TerminalStyle { all: args.all, ..output::terminal_style() };
            output::report(&args.store.find(name)?, &style)?;
        }
    }
    Ok(ExitCode::SUCCESS)
}
