//! `unjank ipc throughput`: calls back to back, over payload sizes.

use std::process::ExitCode;

use anyhow::Result;
use unjank_host::{Bytes, Nanos};
use unjank_ipc::throughput::{self, Options};

use super::peer;
use super::probe::{PlacementName, cpus};
use super::transport_name::TransportName;
use crate::commands::measured::{self, OutputArgs, Settings};
use crate::values;

/// Arguments of `unjank ipc throughput`.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  unjank ipc throughput
  unjank ipc throughput --transport binder,hwbinder,unix --largest 512KiB
  unjank ipc throughput --transport unix,pi --placement one-cpu --for 60s
  unjank ipc throughput --benchmark_format=json > before.json   # for compare.py

The payload goes to the server and comes back. Calls per second and bytes per
second follow from the time of one round trip; bytes are counted each way.
Each turn has a new server, whose start comes on top of --for.
--benchmark_format=json prints Google Benchmark's JSON with AOSP's names:
BM_sendVec_binder/4 (binder), BM_sendVec_binderize/4 (hwbinder).")]
pub(crate) struct Args {
    /// Transports, measured in alternation
    #[arg(
        long,
        value_enum,
        value_delimiter = ',',
        value_name = "TRANSPORT,…",
        default_value = "binder,hwbinder,pi,unix,pipe,futex,passthrough"
    )]
    transport: Vec<TransportName>,
    /// The smallest payload; each further one is twice the one before
    #[arg(long, value_name = "SIZE", default_value = "4", value_parser = values::bytes)]
    smallest: Bytes,
    /// The largest payload, up to 512KiB
    #[arg(long, value_name = "SIZE", default_value = "64KiB", value_parser = values::bytes)]
    largest: Bytes,
    /// Where client and server run
    #[arg(long, value_enum, value_name = "PLACEMENT", default_value = "free")]
    placement: PlacementName,
    /// How long to measure in total
    #[arg(long = "for", value_name = "TIME", default_value = "20s", value_parser = values::duration)]
    duration: Nanos,
    /// Measure for 3 s in total
    #[arg(long, conflicts_with = "duration")]
    quick: bool,
    /// Turns of each transport at each payload
    #[arg(long, value_name = "N", default_value_t = 12)]
    rounds: usize,
    /// Output format, as in Google Benchmark
    #[arg(
        long = "benchmark_format",
        alias = "benchmark-format",
        value_enum,
        value_name = "FORMAT",
        default_value = "console"
    )]
    format: Format,
    #[command(flatten)]
    output: OutputArgs,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
enum Format {
    /// A table
    Console,
    /// Google Benchmark's JSON
    Json,
}

impl Format {
    fn name(self) -> &'static str {
        match self {
            Self::Console => "console",
            Self::Json => "json",
        }
    }
}

/// The setting with the output format.
const FORMAT: &str = "benchmark_format";

pub(crate) fn run(args: &Args) -> Result<ExitCode> {
    let options = Options {
        transports: args.transport.iter().map(|&name| name.into()).collect(),
        smallest: args.smallest,
        largest: args.largest,
        placement: args.placement.into(),
        duration: if args.quick { Nanos::from_millis(3_000) } else { args.duration },
        rounds: args.rounds,
    };
    let command = measured::Command {
        name: "ipc throughput",
        output: &args.output,
        settings: settings(&options).with(FORMAT, args.format.name()),
    };
    command
        .run(|_, _, monitor| Ok(throughput::run(&options, &peer::command(), monitor)?.findings()))
}

fn settings(options: &Options) -> Settings {
    let transports: Vec<_> = options.transports.iter().map(|transport| transport.name()).collect();
    Settings::default()
        .with("transport", transports)
        .with("smallest", options.smallest.get())
        .with("largest", options.largest.get())
        .with("placement", options.placement.name())
        .with("cpus", cpus(options.placement))
        .with("for", options.duration.get())
        .with("rounds", options.rounds)
}
