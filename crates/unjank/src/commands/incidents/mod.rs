//! `unjank incidents`: the stutters that `unjank watch` has explained.

mod kept;
mod list;
mod unpack;

use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::Result;
use clap::Subcommand;
use unjank_host::Bytes;
use unjank_host::files::Destination;

use crate::{interrupt, output, values};

pub(crate) use kept::{COMMAND, Kept, KeptArgs, STORE};

/// Verbs of `unjank incidents`.
#[derive(Debug, Subcommand)]
pub(crate) enum Verb {
    /// List the incidents, newest first, with the number of those with the same cause
    List(list::Args),
    /// Show one incident as it was explained
    Show(ShowArgs),
    /// Write one incident as a page
    Html(FileArgs),
    /// Write the recording of one incident as a trace for ui.perfetto.dev
    Perfetto(FileArgs),
    /// Remove old incidents
    Prune(PruneArgs),
}

/// Arguments of `unjank incidents show`.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  sudo unjank incidents show
  sudo unjank incidents show last~2
  sudo unjank incidents show 20261129 --json")]
pub(crate) struct ShowArgs {
    /// The incident: last, last~1 …, or the beginning of its id
    #[arg(value_name = "INCIDENT", default_value = "last")]
    incident: String,
    /// Print the record as JSON
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    kept: KeptArgs,
}

/// Arguments of `unjank incidents html` and `perfetto`.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  sudo unjank incidents html last stutter.html
  sudo unjank incidents perfetto last~1 stutter.pftrace")]
pub(crate) struct FileArgs {
    /// The incident: last, last~1 …, or the beginning of its id
    #[arg(value_name = "INCIDENT")]
    incident: String,
    /// The file to write; - is stdout
    #[arg(value_name = "FILE")]
    file: PathBuf,
    #[command(flatten)]
    kept: KeptArgs,
}

/// Arguments of `unjank incidents prune`.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  sudo unjank incidents prune --most-kept 64MiB
  sudo unjank incidents prune --most-kept 1         # all but the newest")]
pub(crate) struct PruneArgs {
    /// Keep the newest incidents that take at most this much together
    #[arg(long, value_name = "SIZE", value_parser = values::bytes)]
    most_kept: Bytes,
    #[command(flatten)]
    kept: KeptArgs,
}

/// Runs a verb.
pub(crate) fn run(verb: &Verb) -> Result<ExitCode> {
    match verb {
        Verb::List(args) => list::run(args),
        Verb::Show(args) => show(args),
        Verb::Html(args) => html(args),
        Verb::Perfetto(args) => perfetto(args),
        Verb::Prune(args) => prune(args),
    }
}

fn show(args: &ShowArgs) -> Result<ExitCode> {
    let record = args.kept.open_existing()?.find(&args.incident)?;
    if args.json {
        output::print(&unjank_report::json(&record.to_json()))?;
    } else {
        output::report(&record, &output::terminal_style())?;
    }
    Ok(ExitCode::SUCCESS)
}

fn html(args: &FileArgs) -> Result<ExitCode> {
    let place = Destination::open(&args.file)?;
    let record = args.kept.open_existing()?.find(&args.incident)?;
    let page = unjank_report::html(std::slice::from_ref(&record));
    output::unless_reader_left(place.write(page.as_bytes()))?;
    Ok(ExitCode::SUCCESS)
}

fn perfetto(args: &FileArgs) -> Result<ExitCode> {
    let place = Destination::open_binary(&args.file)?;
    let kept = args.kept.open_existing()?;
    let record = kept.find(&args.incident)?;
    let recording = kept.recording(&record.id);
    output::unless_reader_left(unpack::unpack(&recording, place, &interrupt::stop()))?;
    Ok(ExitCode::SUCCESS)
}

fn prune(args: &PruneArgs) -> Result<ExitCode> {
    args.kept.open_existing()?;
    let mut kept = args.kept.open_for_writing()?;
    let removed = kept.prune(args.most_kept)?;
    let count = unjank_measure::number::counted(removed.len(), "incident", "incidents");
    output::print(&format!("removed {count}"))?;
    Ok(ExitCode::SUCCESS)
}
