//! `unjank lock peer`: the second process of `lock bench`.

use std::io;
use std::process::ExitCode;

use anyhow::{Context as _, Result};
use unjank_host::process;
use unjank_lock::bench::{self, PeerCommand};

/// Arguments of `unjank lock peer`.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Number of the process that started it
    parent: u32,
}

/// Reads orders from stdin and writes answers to stdout.
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
