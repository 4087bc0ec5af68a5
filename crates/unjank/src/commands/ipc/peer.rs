//! `unjank ipc peer`: the other process of a measurement.

use std::process::ExitCode;

use anyhow::{Context as _, Result};
use unjank_ipc::{Peer, PeerCommand, Transport, serve};

use super::probe::TransportName;

/// Arguments of `unjank ipc peer`, in the order that [`PeerCommand`] gives.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    transport: TransportName,
    payload: usize,
    parent: u32,
    cpu: Option<usize>,
}

/// Echoes what comes over stdin.
pub(crate) fn run(args: &Args) -> Result<ExitCode> {
    let Args { transport, payload, parent, cpu } = *args;
    serve(Peer { transport: Transport::from(transport), payload, parent, cpu })
        .context("while answering calls")?;
    Ok(ExitCode::SUCCESS)
}

/// The command that starts this one.
pub(crate) fn command() -> PeerCommand {
    PeerCommand { program: "/proc/self/exe".into(), arguments: vec!["ipc".into(), "peer".into()] }
}
