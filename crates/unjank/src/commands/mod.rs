//! One file per command: its arguments, and how they become the options of the
//! crate that does the work.

pub(crate) mod checkup;
pub(crate) mod completions;
mod environment;
pub(crate) mod host;
mod imported;
mod in_time;
pub(crate) mod incidents;
mod installation;
pub(crate) mod ipc;
pub(crate) mod jitter;
pub(crate) mod keeper;
pub(crate) mod lab;
pub(crate) mod launch;
mod leftovers;
pub(crate) mod lock;
pub(crate) mod man;
mod measured;
pub(crate) mod parent;
mod place;
pub(crate) mod record;
mod recording;
mod repeated;
pub(crate) mod repetition;
pub(crate) mod reproduce;
pub(crate) mod restore;
pub(crate) mod rt;
pub(crate) mod runs;
pub(crate) mod schd_dbg;
mod service;
mod session;
mod storing;
pub(crate) mod swap;
mod system_bus;
mod unit;
pub(crate) mod watch;
mod welcome;
pub(crate) mod why;
pub(crate) mod with;

use std::path::Path;
use std::process::ExitCode;

use anyhow::Result;
use unjank_host::process::survive_file_size_limit;
use unjank_host::tracefs::keep_instances_with;

use crate::cli::{Cli, Command};
use crate::{output, paths};

/// Runs the given command.
pub(crate) fn run(cli: Cli) -> Result<ExitCode> {
    survive_file_size_limit();
    // If it has a directory already, that is one of ours.
    let _set_before = tempfile::env::override_temp_dir(&paths::temporary());
    keep_instances_with(keeper::command(Path::new("tracing")));
    let Some(command) = cli.command else { return welcome::run() };
    match command {
        Command::Checkup(args) => checkup::run(&args),
        Command::Host(args) => host::run(&args),
        Command::Incidents(verb) => incidents::run(&verb),
        Command::Ipc(verb) => ipc::run(&verb),
        Command::Mark(args) => watch::mark::run(&args),
        Command::Watch(args) => watch::run(&args),
        Command::Lab(verb) => lab::run(&verb),
        Command::Launch(verb) => launch::run(&verb),
        Command::Lock(verb) => lock::run(&verb),
        Command::SchdDbg(args) => schd_dbg::run(&args),
        Command::Swap(verb) => swap::run(&verb),
        Command::Runs(verb) => runs::run(&verb),
        Command::Jitter(verb) => jitter::run(&verb),
        Command::Rt(verb) => rt::run(&verb),
        Command::Reproduce(args) => reproduce::run(&args),
        Command::Why(args) => why::run(&args),
        Command::With(args) => with::run(&args),
        Command::Record(args) => record::run(&args),
        Command::Restore(args) => restore::run(&args),
        Command::Completions(args) => completions::run(&args, &Cli::definition(output::width())),
        Command::Man(args) => man::run(&args, Cli::definition(output::width())),
        Command::Keeper(args) => keeper::run(&args),
        Command::Repetition(parent) => repetition::run(parent),
    }
}
