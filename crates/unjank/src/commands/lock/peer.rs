//! `unjank lock peer`: the second process of `lock bench`.

use std::io;
use std::process::ExitCode;

use anyhow::{Context as _, Result};
use unjank_host::process::HelperCommand;
use unjank_lock::bench;

use crate::commands::parent::Parent;

/// Reads orders from stdin and writes answers to stdout.
pub(crate) fn run(parent: Parent) -> Result<ExitCode> {
    if parent.lives()? {
        bench::serve(io::stdin().lock(), io::stdout().lock())
            .context("while measuring for another process")?;
    }
    Ok(ExitCode::SUCCESS)
}

/// The command that starts this one.
pub(crate) fn command() -> HelperCommand {
    HelperCommand::this_program(["lock", "peer"])
}
