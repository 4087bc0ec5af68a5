//! `unjank ipc`: the answer comes from another process.

pub(crate) mod peer;
pub(crate) mod probe;

use std::process::ExitCode;

use anyhow::Result;
use clap::Subcommand;

/// Verbs of `unjank ipc`.
#[derive(Debug, Subcommand)]
pub(crate) enum Verb {
    /// Measure request/reply round trips between two processes
    Probe(probe::Args),
    /// The other process of a measurement; started by unjank itself
    #[command(hide = true)]
    Peer(peer::Args),
}

/// Runs the verb that was typed.
pub(crate) fn run(verb: &Verb) -> Result<ExitCode> {
    match verb {
        Verb::Probe(args) => probe::run(args),
        Verb::Peer(args) => peer::run(args),
    }
}
