//! `unjank lock peer`: the other process of a comparison of locks.

use std::io;
use std::process::ExitCode;

use anyhow::{Context as _, Result};
use unjank_host::process;
use unjank_lock::bench::{self, PeerCommand};

/// Arguments of `unjank lock peer`.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The process that started it
    parent: u32,
}

/// Does what it is told on stdin, and answers on stdout.
pub(crate) fn run(args: &Args) -> Result<ExitCode> {
    if process::die_with_parent(args.parent)? {
        bench::serve(io::stdin().lock(), io::stdout().lock())
            .context("while measuring for another process")?;
    }
    Ok(ExitCode::SUCCESS)
}

/// The command that starts this one.
pub(super) fn command() -> PeerCommand {
    PeerCommand { program: "/proc/self/exe".into(), arguments: vec!["lock".into(), "peer".into()] }
}
