//! `unjank swap bench-app`: an app of `swap bench`.

use std::io;
use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::Result;
use unjank_swap::bench::app::{Setup, serve};

/// Arguments of `unjank swap bench-app`.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Pages of its own
    pages: u32,
    /// Pages that it pins
    pinned: u32,
    /// Pages of the file that all apps share
    file_pages: u32,
    /// That file
    file: PathBuf,
}

pub(crate) fn run(args: &Args) -> Result<ExitCode> {
    let setup = Setup {
        pages: args.pages,
        pinned: args.pinned,
        file: args.file.clone(),
        file_pages: args.file_pages,
    };
    serve(&setup, &mut io::stdin().lock(), &mut io::stdout().lock())?;
    Ok(ExitCode::SUCCESS)
}
