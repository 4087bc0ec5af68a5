//! `unjank ipc inversion`: the cost of priority inversion for a real-time call.

use std::process::ExitCode;

use anyhow::{Context as _, Result};
use unjank_host::Nanos;
use unjank_host::sched::{CpuSet, Priority};
use unjank_ipc::inversion::{self, Options};

use super::peer;
use super::transport_name::TransportName;
use crate::commands::measured::{self, OutputArgs, Settings};
use crate::values;

/// Arguments of `unjank ipc inversion`.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  sudo unjank ipc inversion
  sudo unjank ipc inversion --transport unix,pi --count 1000 --burst 20ms
  sudo unjank ipc inversion --transport binder,hwbinder,pi --html inversion.html

A real-time client calls an ordinary server on the same CPU, where a hog computes
in bursts. The hog's priority lies between theirs. Over a transport without
priority inheritance, the server and so the client wait until the hog sleeps.
From 80 calls on, they are divided into independent starts, each with a new server.")]
pub(crate) struct Args {
    /// Transports, measured in alternation
    #[arg(
        long,
        value_enum,
        value_delimiter = ',',
        value_name = "TRANSPORT,…",
        default_value = "unix,pipe,futex,binder,hwbinder,pi"
    )]
    transport: Vec<TransportName>,
    /// Calls without the hog, and again beside it
    #[arg(long = "count", short = 'n', value_name = "N", default_value_t = 300)]
    calls: u64,
    /// Make 150 calls
    #[arg(long, conflicts_with = "calls")]
    quick: bool,
    /// CPU of client, server and hog [default: the last CPU that this process may use]
    #[arg(long, value_name = "N")]
    cpu: Option<usize>,
    /// The client's SCHED_FIFO priority (above 90 only with --force)
    #[arg(long, value_name = "1-99", default_value = "80", value_parser = values::priority)]
    priority: Priority,
    /// The hog's SCHED_FIFO priority
    #[arg(long, value_name = "1-99", default_value = "50", value_parser = values::priority)]
    hog: Priority,
    /// How long the hog computes at a time; it then sleeps for a quarter of that
    #[arg(long, value_name = "TIME", default_value = "10ms", value_parser = values::duration)]
    burst: Nanos,
    /// Allow priorities above 90, and machines without real-time throttling
    #[arg(long)]
    force: bool,
    #[command(flatten)]
    output: OutputArgs,
}

pub(crate) fn run(args: &Args) -> Result<ExitCode> {
    let last = || CpuSet::allowed().ok()?.iter().last();
    let calls = if args.quick { 150 } else { args.calls };
    let options = Options {
        transports: args.transport.iter().map(|&name| name.into()).collect(),
        calls,
        starts: Options::usual_starts(calls),
        cpu: args.cpu.or_else(last).context("no CPU is allowed for this process")?,
        client: args.priority,
        hog: args.hog,
        burst: args.burst,
        force: args.force,
    };
    let command = measured::Command {
        name: "ipc inversion",
        output: &args.output,
        settings: settings(&options),
    };
    command.run(|root, seed, monitor| {
        Ok(inversion::run(&options, &peer::command(), root, seed, monitor)?)
    })
}

fn settings(options: &Options) -> Settings {
    let transports: Vec<_> = options.transports.iter().map(|transport| transport.name()).collect();
    Settings::default()
        .with("transport", transports)
        .with("count", options.calls)
        .with("starts", options.starts)
        .with("cpu", options.cpu)
        .with("priority", options.client.get())
        .with("hog", options.hog.get())
        .with("burst", options.burst.get())
        .with("force", options.force)
}
