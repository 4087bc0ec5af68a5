//! `unjank ipc peer`: the other process of a measurement.

use std::process::ExitCode;

use anyhow::{Context as _, Result};
use unjank_ipc::{PeerCommand, Route, Service, serve};

use super::transport_name::TransportName;

/// Arguments of `unjank ipc peer`, in the order that [`PeerCommand`] gives.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    transport: TransportName,
    service: Service,
    payload: usize,
    parent: u32,
    peer_cpu: Option<usize>,
}

/// Serves what comes over stdin.
pub(crate) fn run(args: &Args) -> Result<ExitCode> {
    let Args { transport, service, payload, parent, peer_cpu } = *args;
    serve(&Route { transport: transport.into(), service, payload, peer_cpu }, parent)
        .context("while answering calls")?;
    Ok(ExitCode::SUCCESS)
}

/// The command that starts this one.
pub(crate) fn command() -> PeerCommand {
    PeerCommand { program: "/proc/self/exe".into(), arguments: vec!["ipc".into(), "peer".into()] }
}
