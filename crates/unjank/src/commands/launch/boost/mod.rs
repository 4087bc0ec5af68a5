//! `unjank launch boost`: a service that raises the clock while programs start.

mod args;
mod client;
mod install;
mod log;
mod plan;
mod saver;
mod serve;
mod setup;

use std::process::ExitCode;

use anyhow::Result;
use clap::Subcommand;

use crate::commands::service::{SocketArgs, StatusArgs};
use args::ServiceArgs;
use client::Boost;

/// Arguments of `unjank launch boost`.
#[derive(Debug, clap::Args)]
#[command(
    args_conflicts_with_subcommands = true,
    after_help = "Examples:
  sudo unjank launch boost                       # until Ctrl-C
  sudo unjank launch boost --double-tap          # ondemand evaluates the load at once
  sudo unjank launch boost --method sampling-rate --sampling-rate 50ms
  unjank launch boost plan                       # what it would change here, and why
  unjank launch boost status --json
  sudo unjank launch boost pause
  sudo unjank launch boost install               # at every boot, if it helps

The process connector reports every program that starts. If that is a launch,
the service raises the clock at once, and restores the exact former values when
the launch is over: its processes are idle, have ended, or took too long.
/etc/unjank/boost.toml defines what a launch is (docs/reference/launch/boost.md has all
keys); options override it. Everything is restored when the service ends, even
if it is killed.

`install` starts it at every boot, if it helps this machine. Exit code 3: nothing
on this machine can be boosted."
)]
pub(crate) struct Args {
    #[command(subcommand)]
    verb: Option<Verb>,
    #[command(flatten)]
    service: ServiceArgs,
}

/// Subcommands.
#[derive(Debug, Subcommand)]
enum Verb {
    /// Show what the service would change on this machine, and why
    Plan(plan::Args),
    /// Show what the running service does and has done
    #[command(after_help = "Examples:
  unjank launch boost status
  unjank launch boost status --json | jq .counts")]
    Status(StatusArgs<Boost>),
    /// Stop boosting until `resume`
    #[command(
        after_help = "Examples:\n  sudo unjank launch boost pause     # for a measurement without boosts"
    )]
    Pause(SocketArgs<Boost>),
    /// Continue after a pause
    #[command(after_help = "Examples:\n  sudo unjank launch boost resume")]
    Resume(SocketArgs<Boost>),
    /// Start it at every boot, with the method that shortens launches most here
    Install(install::InstallArgs),
    /// Stop it, and remove what `install` has written
    Uninstall(install::UninstallArgs),
}

/// Runs the service or a subcommand.
pub(crate) fn run(args: &Args) -> Result<ExitCode> {
    match &args.verb {
        None => serve::run(&args.service),
        Some(Verb::Plan(args)) => plan::run(args),
        Some(Verb::Status(args)) => args.run(),
        Some(Verb::Pause(args)) => args.pause(),
        Some(Verb::Resume(args)) => args.resume(),
        Some(Verb::Install(args)) => install::install(args),
        Some(Verb::Uninstall(args)) => install::uninstall(args),
    }
}
