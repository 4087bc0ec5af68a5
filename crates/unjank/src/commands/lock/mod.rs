//! `unjank lock`: the thread waits for a lock.

pub(crate) mod probe;

use std::process::ExitCode;

use anyhow::Result;
use clap::Subcommand;

/// Verbs of `unjank lock`.
#[derive(Debug, Subcommand)]
pub(crate) enum Verb {
    /// Measure what each way of waiting costs on this machine
    Probe(probe::Args),
}

/// Runs the verb that was typed.
pub(crate) fn run(verb: &Verb) -> Result<ExitCode> {
    match verb {
        Verb::Probe(args) => probe::run(args),
    }
}
