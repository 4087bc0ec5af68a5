//! `unjank ipc peer`: the other process of a measurement.

use std::process::ExitCode;

use anyhow::{Context as _, Result};
use unjank_ipc::{PeerCommand, Role, play};

/// Arguments of `unjank ipc peer`, in the order that [`PeerCommand`] gives.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// What to do, as JSON
    role: String,
    parent: u32,
}

/// Does its part of a measurement.
pub(crate) fn run(args: &Args) -> Result<ExitCode> {
    let role: Role = serde_json::from_str(&args.role).context("while reading the role")?;
    play(&role, args.parent).context("while answering calls")?;
    Ok(ExitCode::SUCCESS)
}

/// The command that starts this one.
pub(crate) fn command() -> PeerCommand {
    PeerCommand { program: "/proc/self/exe".into(), arguments: vec!["ipc".into(), "peer".into()] }
}
