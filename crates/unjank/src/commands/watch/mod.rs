//! `unjank watch`: keeps the last seconds in memory, and explains a stutter after it happened.

mod args;
mod client;
mod explain;
mod install;
pub(crate) mod mark;
mod polling;
mod pressure;
mod serve;
mod start;

use std::process::ExitCode;

use anyhow::Result;
use clap::Subcommand;

use crate::commands::service::{SocketArgs, StatusArgs};
use args::ServiceArgs;
use client::Watch;

/// Arguments of `unjank watch`.
#[derive(Debug, clap::Args)]
#[command(
    args_conflicts_with_subcommands = true,
    after_help = "Examples:
  sudo unjank watch                              # until Ctrl-C
  sudo unjank watch --late 'pipewire*=5ms'       # threads that must not be late
  sudo unjank watch --slow-launch firefox=2x     # programs that must not start slower than usual
  sudo unjank watch --silent Xorg=2s             # servers that must read their sockets
  unjank mark                                    # explain the last stutter; bind this to a key
  sudo unjank why --last                         # the last incident, explained
  sudo unjank incidents list
  unjank watch status --json
  sudo unjank watch install

The kernel records all context switches, wake-ups and block requests into memory, and
overwrites the oldest ones. No program reads them before a stutter, so the cost is
low. A stutter is noticed by a mark, SIGUSR1, pressure for a CPU, memory or I/O, a
late thread, a slow launch or a silent server. Then the recording is frozen, and the
longest delay of a thread is explained as by unjank why. A second recording goes on
meanwhile.

systemd unit: unjank-watch.service. Exit codes: 3 the kernel cannot record, 4 not
permitted. docs/reference/watch.md has the details."
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
    /// Show what the running service does and has done
    #[command(after_help = "Examples:
  unjank watch status
  unjank watch status --json | jq .incidents")]
    Status(StatusArgs<Watch>),
    /// Record nothing until `resume`
    #[command(
        after_help = "Examples:\n  sudo unjank watch pause      # while something is measured"
    )]
    Pause(SocketArgs<Watch>),
    /// Continue after a pause
    #[command(after_help = "Examples:\n  sudo unjank watch resume")]
    Resume(SocketArgs<Watch>),
    /// Start the service at every boot
    Install(install::InstallArgs),
    /// Stop the service and remove what `install` has written
    Uninstall(install::UninstallArgs),
}

/// Runs the service or a subcommand.
pub(crate) fn run(args: &Args) -> Result<ExitCode> {
    match &args.verb {
        None => serve::run(&args.service),
        Some(Verb::Status(args)) => args.run(),
        Some(Verb::Pause(args)) => args.pause(),
        Some(Verb::Resume(args)) => args.resume(),
        Some(Verb::Install(args)) => install::install(args),
        Some(Verb::Uninstall(args)) => install::uninstall(args),
    }
}
