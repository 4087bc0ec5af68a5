//! `unjank ipc bench`: compares calls with those of other tools and transports.

use std::process::ExitCode;

use anyhow::Result;
use unjank_host::Nanos;
use unjank_ipc::bench::{self, Comparison};

use super::peer;
use crate::commands::measured::{self, OutputArgs, Settings};
use crate::values;

/// Arguments of `unjank ipc bench`.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  unjank ipc bench
  unjank ipc bench --pairs 40 --trial 1s --json

Three comparisons, each in alternating pairs of trials: a round trip over two
pipes with that of perf bench sched pipe (package linux-perf), and one over
pi-channel with one over a unix socket, on one CPU and on two.")]
pub(crate) struct Args {
    /// Length of one trial
    #[arg(long, value_name = "TIME", default_value = "200ms", value_parser = values::duration)]
    trial: Nanos,
    /// Pairs of trials, for each question
    #[arg(long, value_name = "N", default_value_t = 20)]
    pairs: usize,
    /// Eight pairs of trials of 100 ms for each question: wider intervals
    #[arg(long, conflicts_with_all = ["trial", "pairs"])]
    quick: bool,
    #[command(flatten)]
    output: OutputArgs,
}

pub(crate) fn run(args: &Args) -> Result<ExitCode> {
    let comparison = if args.quick {
        Comparison { trial: Nanos::from_millis(100), pairs: 8 }
    } else {
        Comparison { trial: args.trial, pairs: args.pairs }
    };
    let command = measured::Command {
        name: "ipc bench",
        output: &args.output,
        settings: Settings::default()
            .with("trial", comparison.trial.get())
            .with("pairs", comparison.pairs),
    };
    command.run(|_, seed, monitor| Ok(bench::run(&comparison, &peer::command(), seed, monitor)?))
}
