//! `unjank host`: what this machine is.

use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::Result;
use unjank_host::{Machine, Root};

use crate::output;

/// Arguments of `unjank host`.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  unjank host
  unjank host --json | jq .frequency
  unjank host --root crates/host/fixtures/phone-walt")]
pub(crate) struct Args {
    /// Print the description as JSON
    #[arg(long)]
    json: bool,
    /// Read a recorded tree instead of this machine
    #[arg(long, value_name = "DIR")]
    root: Option<PathBuf>,
}

/// Reads the machine and prints it.
pub(crate) fn run(args: &Args) -> Result<ExitCode> {
    let _root = args.root.as_ref().map_or_else(Root::system, Root::at);
    output::print(&serde_json::to_string_pretty(&Machine::read(&_root))?)?;
    Ok(ExitCode::SUCCESS)
}
