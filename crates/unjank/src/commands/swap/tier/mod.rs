//! `unjank swap tier`: a small fast memory between memory and swap that keeps what comes back.

mod down;
mod helper;
mod status;
mod up;

pub(crate) use helper::helpers;

use std::process::ExitCode;

use anyhow::Result;

/// Verbs of `unjank swap tier`.
#[derive(Debug, clap::Subcommand)]
pub(crate) enum Verb {
    /// Swap to a tier until Ctrl-C or `down`
    Up(up::Args),
    /// Bring the pages of a tier back into memory, and remove it
    Down(down::Args),
    /// Show the tiers of this machine
    Status(status::Args),
    /// One of the processes of a tier; started by `up`
    #[command(hide = true)]
    Helper(helper::Args),
}

pub(crate) fn run(verb: &Verb) -> Result<ExitCode> {
    match verb {
        Verb::Up(args) => up::run(args),
        Verb::Down(args) => down::run(args),
        Verb::Status(args) => status::run(args),
        Verb::Helper(args) => helper::run(args),
    }
}
