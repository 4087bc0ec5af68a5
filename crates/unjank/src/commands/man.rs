//! `unjank man`: the manual pages.

use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::Result;
use clap::Command;
use unjank_host::files::{Destination, make_directory};

use crate::cli::manual;
use crate::{exit, output};

/// Arguments of `unjank man`.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  unjank man ~/.local/share/man/man1
  unjank man /tmp/pages && man -l /tmp/pages/unjank-why.1

Each command has a page: unjank.1, unjank-why.1, unjank-launch-bench.1. The directory is made
if it is missing, and pages in it are replaced.")]
pub(crate) struct Args {
    /// Where the pages go
    directory: PathBuf,
}

/// Writes the pages of all commands, and prints how many there are.
pub(crate) fn run(args: &Args, mut all: Command) -> Result<ExitCode> {
    all.build();
    let directory = &args.directory;
    make_directory(directory)?;
    let pages = manual::pages(&all)?;
    for page in &pages {
        let file = directory.join(&page.file);
        Destination::open(&file)?.write(&page.roff)?;
    }
    output::print(&format!("{} pages in {}", pages.len(), directory.display()))?;
    Ok(ExitCode::from(exit::FINE))
}
