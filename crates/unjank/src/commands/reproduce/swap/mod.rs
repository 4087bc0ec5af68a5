//! `unjank reproduce swap`: the figures of Bahn & Kim on synthetic phones, and with real memory.

mod real;

use std::process::ExitCode;

use anyhow::Result;
use unjank_host::{Nanos, Root};
use unjank_measure::monitor::Part;
use unjank_measure::{Findings, Monitor};
use unjank_swap::paper::{self, Options};
use unjank_swap::simulate::Latency;
use unjank_swap::synth::presets;

use self::real::RealArgs;
use super::paper::Paper;
use crate::commands::measured::{self, OutputArgs, Settings};
use crate::commands::swap::input::SEED;
use crate::values;

pub(super) const PAPER: Paper = Paper { name: "swap", authors: "Bahn & Kim" };

/// The part of the time that the model takes, if memory is measured as well.
const MODELLED: f64 = 0.02;

/// Phones of each kind with `--quick`: the fewest that have an interval.
const QUICK: u64 = 6;

/// Arguments of `unjank reproduce swap`.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  unjank reproduce swap                       # the paper's values and the modelled ones
  unjank reproduce swap --html swap.html      # with Fig. 1, 2 and 5 as charts
  unjank reproduce swap --seeds 20
  sudo unjank reproduce swap --measured       # with real memory, too: 40 minutes
  sudo unjank reproduce swap --measured --phone 9-1gib,25-1gib --scale 0.1

The paper captured its traces on phones and did not publish them. So synthetic phones
(unjank swap synth) are used, whose sizes were found by a search for the paper's values.
The output shows how far these values are reproduced. The figures of the tier follow from
the same phones. With --measured, apps that touch as many pages as those of the phones
are launched under a memory limit as well, as unjank swap bench does it.")]
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
    real: RealArgs,
    #[command(flatten)]
    output: OutputArgs,
}

impl Args {
    fn seeds(&self) -> u64 {
        self.seeds.unwrap_or(if self.quick { QUICK } else { 2 * QUICK })
    }

    fn seed(&self) -> u64 {
        self.output.seed.unwrap_or(SEED)
    }
}

pub(super) fn run(args: &Args) -> Result<ExitCode> {
    let command = measured::Command {
        name: "reproduce swap",
        output: &args.output,
        settings: args.real.add_to(
            Settings::modelled()
                .with("seeds", args.seeds())
                .with("storage_read", args.storage_read.get())
                .with("phone_seed", args.seed())
                .with("synthetic", true),
        ),
    };
    command.run(|root, _, monitor| measure(args, root, monitor))
}

/// The claims beside those of synthetic phones, and of real memory.
pub(super) fn measure(args: &Args, root: &Root, monitor: &dyn Monitor) -> Result<Findings> {
    let options = Options {
        seeds: args.seeds(),
        seed: args.seed(),
        latency: Latency { storage: args.storage_read, ..Latency::default() },
        nine: presets::GAMES,
        many: presets::MANY_GAMES,
    };
    let share = if args.real.is_wanted() { MODELLED } else { 1.0 };
    let reproduction = paper::run(&options, &Part::new(monitor, "the model", 0.0, share))?;
    let mut findings = paper::findings(&reproduction);
    let mut claims = reproduction.claims();
    if args.real.is_wanted() {
        let part = Part::new(monitor, "real memory", share, 1.0 - share);
        claims.extend(args.real.claims(args.seed(), root, &part, &mut findings)?);
    }
    PAPER.conclude(&claims, &mut findings);
    Ok(findings)
}
