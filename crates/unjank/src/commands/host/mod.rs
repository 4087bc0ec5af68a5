//! `unjank host`: describes this machine.

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
  unjank host --root my-phone          # reads such a copy, on any machine")]
pub(crate) struct Args {
    /// Print the description as JSON
    #[arg(long)]
    json: bool,
    /// Read a recorded tree instead of this machine
    #[arg(long, value_name = "DIR")]
    root: Option<PathBuf>,
    /// Copy the files that the description is read from to DIR, which must be
    /// new or empty; serial numbers, passwords and other private content are
    /// left out
    #[arg(long, value_name = "DIR")]
    record: Option<PathBuf>,
}

/// Prints the description of the machine, or records its files.
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

/// A recorded tree, or one made by hand.
fn recorded(dir: &Path) -> Result<Root> {
    if dir.join("proc").is_dir() || dir.join("sys").is_dir() {
        return Ok(Root::at(dir));
    }
    let why = if dir.is_dir() { "has neither proc nor sys in it" } else { "is not a directory" };
    Err(Error::Invalid(format!(
        "{} {why}: --root needs a tree made by `unjank host --record`",
        dir.display()
    ))
    .into())
}
