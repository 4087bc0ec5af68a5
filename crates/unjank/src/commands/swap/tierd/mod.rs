//! `unjank swap tierd`: a service that writes cold pages of zram back to its backing device.

mod args;
mod client;
mod install;
mod serve;

use std::process::ExitCode;

use anyhow::Result;
use clap::Subcommand;

use crate::commands::service::{SocketArgs, StatusArgs};
use args::ServiceArgs;
use client::Tierd;

/// Arguments of `unjank swap tierd`.
#[derive(Debug, clap::Args)]
#[command(
    args_conflicts_with_subcommands = true,
    after_help = "Examples:
  sudo unjank swap tierd                               # until Ctrl-C
  sudo unjank swap tierd --after 10min --per-day 512MiB
  sudo unjank swap tierd --policy none                 # a sweep by age alone
  unjank swap tierd status --json
  sudo unjank swap tierd pause
  sudo unjank swap tierd install

zram takes every page that memory evicts. The service finds out which pages of
processes are in zram. Pages that were evicted once and are not used again are
written back to the backing device; pages that are used again stay in zram. It needs
a zram device that the machine swaps to and that has a backing device
(CONFIG_ZRAM_WRITEBACK, Linux 5.11; it looks faster from 6.7 on). It changes no
setting: if it ends or is killed, zram works as before.

systemd unit: unjank-tierd.service. Exit codes: 3 no such zram device, 4 not
permitted. docs/reference/swap/tierd.md has the details."
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
  unjank swap tierd status
  unjank swap tierd status --json | jq .counts")]
    Status(StatusArgs<Tierd>),
    /// Write nothing back until `resume`
    #[command(
        after_help = "Examples:\n  sudo unjank swap tierd pause     # while flash must be idle"
    )]
    Pause(SocketArgs<Tierd>),
    /// Continue after a pause
    #[command(after_help = "Examples:\n  sudo unjank swap tierd resume")]
    Resume(SocketArgs<Tierd>),
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
