//! `unjank ipc peer`: the peer process of a measurement.

use std::process::ExitCode;

use anyhow::{Context as _, Result};
use unjank_host::process::HelperCommand;
use unjank_ipc::{Role, run_peer};

use crate::commands::parent::Parent;

/// Arguments of `unjank ipc peer`.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The role, as JSON: stdin and stdout may be the transport that is measured
    role: String,
    #[command(flatten)]
    parent: Parent,
}

/// Plays its role until the parent ends.
pub(crate) fn run(args: &Args) -> Result<ExitCode> {
    let role: Role = serde_json::from_str(&args.role).context("while reading the role")?;
    if args.parent.lives()? {
        run_peer(&role).context("while answering calls")?;
    }
    Ok(ExitCode::SUCCESS)
}

/// The command that starts this one.
pub(crate) fn command() -> HelperCommand {
    HelperCommand::this_program(["ipc", "peer"])
}
