//! `unjank swap paper`: the figures of Bahn & Kim on synthetic phones.

use std::process::ExitCode;

use anyhow::Result;
use unjank_host::Nanos;
use unjank_swap::paper::{self, Options};
use unjank_swap::simulate::Latency;
use unjank_swap::synth::presets;

use super::input::SEED;
use crate::commands::measured::{self, OutputArgs, Settings};
use crate::values;

/// Arguments of `unjank swap paper`.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  unjank swap paper                       # the paper's values beside ours
  unjank swap paper --html paper.html     # with Fig. 1, 2 and 5 as charts
  unjank swap paper --seeds 20

The paper captured its traces on phones and did not publish them. So phones are
made up (unjank swap synth): their sizes were chosen, by a search, so that what the
paper says of its phones comes out. What is told here is how far that goes, not
that it was measured. The figures of the tier follow from the same phones.")]
pub(crate) struct Args {
    /// How many phones of each kind, each from another seed
    #[arg(long, value_name = "N", default_value_t = 6, value_parser = clap::value_parser!(u64).range(1..=1000))]
    seeds: u64,
    /// A page-in from storage
    #[arg(long, value_name = "TIME", default_value = "150us", value_parser = values::duration_or_zero)]
    storage_read: Nanos,
    #[command(flatten)]
    output: OutputArgs,
}

/// Simulates and prints.
pub(crate) fn run(args: &Args) -> Result<ExitCode> {
    let latency = Latency { storage: args.storage_read, ..Latency::default() };
    let options = Options {
        seeds: args.seeds,
        seed: args.output.seed.unwrap_or(SEED),
        latency,
        nine: presets::GAMES,
        many: presets::MANY_GAMES,
    };
    let command = measured::Command {
        name: "swap paper",
        output: &args.output,
        settings: Settings::modelled()
            .with("seeds", args.seeds)
            .with("storage_read", args.storage_read.get())
            .with("synthetic", true),
    };
    command.run(|_, _, monitor| Ok(paper::findings(&paper::run(&options, monitor)?)))
}
