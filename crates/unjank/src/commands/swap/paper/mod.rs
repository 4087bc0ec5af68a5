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
  unjank swap paper                       # the paper's values and the modelled ones
  unjank swap paper --html paper.html     # with Fig. 1, 2 and 5 as charts
  unjank swap paper --seeds 20

The paper captured its traces on phones and did not publish them. So synthetic phones
(unjank swap synth) are used, whose sizes were found by a search for the paper's values.
The output shows how far these values are reproduced; nothing is measured. The
figures of the tier follow from the same phones.")]
pub(crate) struct Args {
    /// The number of phones of each kind, each from another seed
    #[arg(long, value_name = "N", default_value_t = 6, value_parser = clap::value_parser!(u64).range(1..=1000))]
    seeds: u64,
    /// The time of a page-in from storage
    #[arg(long, value_name = "TIME", default_value = "150us", value_parser = values::duration_or_zero)]
    storage_read: Nanos,
    #[command(flatten)]
    output: OutputArgs,
}

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
