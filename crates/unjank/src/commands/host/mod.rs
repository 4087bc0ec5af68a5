//! `unjank host`: what this machine is.

mod describe;

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::Result;
use unjank_host::{Error, Machine, Root};

use crate::output;

/// Arguments of `unjank host`.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  unjank host
  unjank host --json | jq .frequency
  unjank host --record my-phone        # for a bug report: tar czf my-phone.tgz my-phone
  unjank host --root my-phone          # what its reader types")]
pub(crate) struct Args {
    /// Print the description as JSON
    #[arg(long)]
    json: bool,
    /// Read a recorded tree instead of this machine
    #[arg(long, value_name = "DIR")]
    root: Option<PathBuf>,
    /// Copy the files that the description rests on to DIR, which must be new or
    /// empty; serial numbers, passwords and whatever else is private stay here
    #[arg(long, value_name = "DIR")]
    record: Option<PathBuf>,
}

/// Reads the machine and prints it, or records it.
pub(crate) fn run(args: &Args) -> Result<ExitCode> {
    let root = match &args.root {
        Some(dir) => recorded(dir)?,
        None => Root::system(),
    };
    let (machine, recording) = Machine::record(&root);
    if let Some(dir) = &args.record {
        recording.write_to(dir)?;
        let dir = dir.display();
        output::remark(&format!(
            "recorded {} files ({}) below {dir}; `unjank host --root {dir}` reads them",
            recording.len(),
            recording.size(),
        ));
    }
    if args.json {
        output::print(&output::json(&machine)?)?;
    } else if args.record.is_none() {
        output::print(&describe::page(&machine, output::width()))?;
    }
    Ok(ExitCode::SUCCESS)
}

/// A tree that was recorded, or made by hand.
fn recorded(dir: &Path) -> Result<Root> {
    if dir.join("proc").is_dir() || dir.join("sys").is_dir() {
        return Ok(Root::at(dir));
    }
    let why = if dir.is_dir() { "has neither proc nor sys in it" } else { "is not a directory" };
    Err(Error::Invalid(format!(
        "{} {why}: --root wants a tree that `unjank host --record` made",
        dir.display()
    ))
    .into())
}
