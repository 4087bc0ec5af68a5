//! `unjank launch boost`: a service that raises the clock while programs start.

mod args;
mod ask;
mod log;
mod plan;
mod requests;
mod serve;
mod setup;

use std::process::ExitCode;

use anyhow::Result;
use clap::Subcommand;

use args::ServiceArgs;

/// Arguments of `unjank launch boost`.
#[derive(Debug, clap::Args)]
#[command(
    args_conflicts_with_subcommands = true,
    after_help = "Examples:
  sudo unjank launch boost                       # until Ctrl-C
  sudo unjank launch boost --double-tap          # ondemand looks at the load at once
  sudo unjank launch boost --method sampling-rate --sampling-rate 50ms
  unjank launch boost plan                       # what it would change here, and why
  unjank launch boost status --json
  sudo unjank launch boost pause

It sees every program that starts (process connector), raises the clock at once
if that is a launch, and puts the exact former values back when the launch is
over: its processes are idle, have ended, or took too long. /etc/unjank/boost.toml
says what a launch is (docs/reference/launch.md has all keys); options here go before it.
Everything is put back when the service ends, whatever ends it.

As a service of systemd: dist/unjank-boost.service. Exit code 3: nothing on this
machine could be boosted."
)]
pub(crate) struct Args {
    #[command(subcommand)]
    verb: Option<Verb>,
    #[command(flatten)]
    service: ServiceArgs,
}

/// What is asked of a service that runs, or would run.
#[derive(Debug, Subcommand)]
enum Verb {
    /// Show what the service would change on this machine, and why
    Plan(plan::Args),
    /// Show what the running service does and has done
    Status(ask::StatusArgs),
    /// Boost nothing until resumed
    Pause(ask::SocketArgs),
    /// Go on after a pause
    Resume(ask::SocketArgs),
}

/// Runs the service, or asks one.
pub(crate) fn run(args: &Args) -> Result<ExitCode> {
    match &args.verb {
        None => serve::run(&args.service),
        Some(Verb::Plan(args)) => plan::run(args),
        Some(Verb::Status(args)) => ask::status(args),
        Some(Verb::Pause(args)) => ask::pause(args),
        Some(Verb::Resume(args)) => ask::resume(args),
    }
}
