//! `unjank lab`: the virtual phone.

pub(crate) mod fetch;
pub(crate) mod init;
pub(super) mod kernel;
pub(crate) mod run;

use std::process::ExitCode;

use anyhow::Result;
use clap::Subcommand;

/// Verbs of `unjank lab`.
#[derive(Debug, Subcommand)]
pub(crate) enum Verb {
    /// Boot a virtual phone, run a command in it, and bring its runs back
    Run(run::Args),
    /// Fetch the virtual phone's kernel, unless it is already there
    Fetch(fetch::Args),
    /// The init process of the virtual phone
    #[command(hide = true)]
    Init,
}

pub(crate) fn run(verb: &Verb) -> Result<ExitCode> {
    match verb {
        Verb::Run(args) => run::run(args),
        Verb::Fetch(args) => fetch::run(args),
        Verb::Init => init::run(),
    }
}
