//! `unjank ipc peer`: the peer process of a measurement.

use std::process::ExitCode;

use anyhow::{Context as _, Result};
use unjank_ipc::{PeerCommand, Role, run_peer};

/// Arguments of `unjank ipc peer`, in the order that [`PeerCommand`] gives.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The role, as JSON
    role: String,
    parent: u32,
}

/// Plays its role until the parent ends.
pub(crate) fn run(args: &Args) -> Result<ExitCode> {
    let role: Role = serde_json::from_str(&args.role).context("while reading the role")?;
    run_peer(&role, args.parent).context("while answering calls")?;
    Ok(ExitCode::SUCCESS)
}

/// The command that starts this one.
pub(crate) fn command() -> PeerCommand {
    PeerCommand { program: "/proc/self/exe".into(), arguments: vec!["ipc".into(), "peer".into()] }
}
