//! `unjank reproduce swap`: the figures of Bahn & Kim on synthetic phones.

use std::process::ExitCode;

use anyhow::Result;
use unjank_host::Nanos;
use unjank_measure::{Findings, Monitor};
use unjank_swap::paper::{self, Options};
use unjank_swap::simulate::Latency;
use unjank_swap::synth::presets;

use super::paper::Paper;
use crate::commands::measured::{self, OutputArgs, Settings};
use crate::commands::swap::input::SEED;
use crate::values;

pub(super) const PAPER: Paper = Paper { name: "swap", authors: "Bahn & Kim" };

/// Phones of each kind with `--quick`: the fewest that have an interval.
const QUICK: u64 = 6;

/// Arguments of `unjank reproduce swap`.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  unjank reproduce swap                       # the paper's values and the modelled ones
  unjank reproduce swap --html swap.html      # with Fig. 1, 2 and 5 as charts
  unjank reproduce swap --seeds 20

The paper captured its traces on phones and did not publish them. So synthetic phones
(unjank swap synth) are used, whose sizes were found by a search for the paper's values.
The output shows how far these values are reproduced; nothing is measured. The
figures of the tier follow from the same phones.")]
pub(crate) struct Args {
    /// The number of phones of each kind, each from another seed [default: 12]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..=1000))]
    seeds: Option<u64>,
    /// Six phones of each kind
    #[arg(long, conflicts_with = "seeds")]
    quick: bool,
    /// The time of a page-in from storage
    #[arg(long, value_name = "TIME", default_value = "150us", value_parser = values::duration_or_zero)]
    storage_read: Nanos,
    #[command(flatten)]
    output: OutputArgs,
}

impl Args {
    fn seeds(&self) -> u64 {
        self.seeds.unwrap_or(if self.quick { QUICK } else { 2 * QUICK })
    }
}

pub(super) fn run(args: &Args) -> Result<ExitCode> {
    let command = measured::Command {
        name: "reproduce swap",
        output: &args.output,
        settings: Settings::modelled()
            .with("seeds", args.seeds())
            .with("storage_read", args.storage_read.get())
            .with("phone_seed", args.output.seed.unwrap_or(SEED))
            .with("synthetic", true),
    };
    command.run(|_, _, monitor| measure(args, monitor))
}

/// The claims beside those of synthetic phones.
pub(super) fn measure(args: &Args, monitor: &dyn Monitor) -> Result<Findings> {
    let options = Options {
        seeds: args.seeds(),
        seed: args.output.seed.unwrap_or(SEED),
        latency: Latency { storage: args.storage_read, ..Latency::default() },
        nine: presets::GAMES,
        many: presets::MANY_GAMES,
    };
    let reproduction = paper::run(&options, monitor)?;
    let mut findings = paper::findings(&reproduction);
    PAPER.conclude(&reproduction.claims(), &mut findings);
    Ok(findings)
}
