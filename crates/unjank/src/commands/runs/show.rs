//! `unjank runs show`: prints stored runs.

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::Result;
use unjank_host::files::{Destination, make_directory};
use unjank_measure::RunRecord;
use unjank_report::{Picture, TerminalStyle};

use super::source::StoreArgs;
use crate::output;

/// Arguments of `unjank runs show`.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  unjank runs show last
  unjank runs show 20261121T1015 --html run.html
  unjank runs show last --all
  unjank runs show last~1 last --html both.html
  unjank runs show phone.json --markdown phone.md
  unjank runs show last --markdown run.md --figures charts

--figures writes the charts of the page as SVG files, for documents and papers. The Markdown shows
them at its end.")]
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
    /// Write each chart as an SVG file into this directory, which is made if it is missing
    #[arg(long, value_name = "DIR", conflicts_with_all = ["all", "json"])]
    figures: Option<PathBuf>,
    #[command(flatten)]
    store: StoreArgs,
}

/// Prints the runs, or writes one file with all of them, and their charts.
pub(crate) fn run(args: &Args) -> Result<ExitCode> {
    let file = args.html.as_ref().or(args.markdown.as_ref());
    if file.is_some() || args.figures.is_some() {
        let find = |name: &String| args.store.find(name);
        let records = args.runs.iter().map(find).collect::<Result<Vec<_>>>()?;
        let figures = match &args.figures {
            Some(directory) => figures(&records, directory)?,
            None => Vec::new(),
        };
        if let Some(path) = file {
            let text = if args.html.is_some() {
                unjank_report::html(&records)
            } else {
                let reports: String = records.iter().map(unjank_report::markdown).collect();
                reports + &charts(&figures, path)
            };
            output::unless_reader_left(Destination::open(path)?.write(text.as_bytes()))?;
        } else {
            let counted = figures.len();
            let directory = args.figures.as_deref().unwrap_or_else(|| Path::new("."));
            output::print(&format!("{counted} charts in {}", directory.display()))?;
        }
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

/// A chart that was written.
struct Written {
    title: String,
    file: PathBuf,
}

/// Writes the charts of all runs; those of a second run have its number in their names.
fn figures(records: &[RunRecord], directory: &Path) -> Result<Vec<Written>> {
    make_directory(directory)?;
    let mut written = Vec::new();
    for (number, record) in (1..).zip(records) {
        for Picture { title, name, svg } in unjank_report::pictures(record) {
            let name = if number > 1 { format!("run-{number}-{name}") } else { name };
            let file = directory.join(name).with_extension("svg");
            Destination::open(&file)?.write(svg.as_bytes())?;
            written.push(Written { title, file });
        }
    }
    Ok(written)
}

/// The charts at the end of a Markdown file: their paths begin at its directory.
fn charts(figures: &[Written], markdown: &Path) -> String {
    let beside = markdown.parent().unwrap_or_else(|| Path::new(""));
    let link = |Written { title, file }: &Written| {
        let place = file.strip_prefix(beside).unwrap_or(file).display().to_string();
        let has_end = |letter: char| letter.is_whitespace() || "()".contains(letter);
        let place = if place.contains(has_end) { format!("<{place}>") } else { place };
        let title: String = title.chars().filter(|letter| !"[]`\\".contains(*letter)).collect();
        format!("![{title}]({place})\n\n")
    };
    let links: String = figures.iter().map(link).collect();
    if links.is_empty() { links } else { format!("\n## Charts\n\n{}\n", links.trim_end()) }
}
