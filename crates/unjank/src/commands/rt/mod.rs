//! `unjank rt`: scheduling policies for threads of other programs.

mod change_args;
mod exec;
mod list;
mod means;
mod profiles;
mod reporter;
pub(crate) mod restore;
mod set;

use std::process::ExitCode;

use anyhow::Result;
use clap::Subcommand;

/// Verbs of `unjank rt`.
#[derive(Debug, Subcommand)]
pub(crate) enum Verb {
    /// List threads with their names, policies, CPUs and CPU time
    List(list::Args),
    /// Give threads of a running process policies by their names, and watch them
    Set(set::Args),
    /// Run a command whose threads get policies by their names as they appear
    Exec(exec::Args),
    /// Put back what rt set --keep, or a killed rt set or rt exec, left changed
    Restore(restore::Args),
    /// List the rules for known programs
    Profiles(profiles::Args),
}

pub(crate) fn run(verb: &Verb) -> Result<ExitCode> {
    match verb {
        Verb::List(args) => list::run(args),
        Verb::Set(args) => set::run(args),
        Verb::Exec(args) => exec::run(args),
        Verb::Restore(args) => restore::run(args),
        Verb::Profiles(args) => profiles::run(args),
    }
}
