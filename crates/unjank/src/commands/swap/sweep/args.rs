//! The command line of `unjank swap sweep`.

use std::path::PathBuf;

use unjank_swap::sweep::Shard;

use super::super::input::MachineArgs;
use super::super::policies::{Policies, policies};
use super::super::reading::ReadingArgs;
use super::super::write_cost::WriteCostArgs;
use super::sizes::Sizes;
use crate::commands::measured::OutputArgs;

/// Arguments of `unjank swap sweep`.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  unjank swap sweep --preset all --tier 32MiB..512MiB/5 --out sweep.parquet
  unjank swap sweep jvm.parquet python.parquet --tier 16MiB..1GiB/7 --policy all
  unjank swap sweep app.parquet --memory 256MiB..1GiB/3 --tier 64MiB,128MiB
  unjank swap sweep --preset games --policy paper,gate,always/arc --html sweep.html
  unjank swap sweep traces/*.parquet --claim /shared/units --out sweep.parquet    # on each machine
  unjank swap sweep traces/*.parquet --shard 2/8 --out part-2.parquet             # of 8 jobs

A..B/N is N sizes from A to B, each the same factor larger than the one before. Finished
combinations are kept in OUT.partial: if a sweep ends early, type the same command again
to continue it, or --restart to start over. A trace that cannot be read is reported and left
out, and the exit code is 1.

A unit of work is one trace with one size of memory. It is known by the content of the trace, the
options and the version of unjank, so traces may be moved, and units of an earlier sweep with
fewer sizes or policies are used.

Policies, --write-budget and --write-cost are those of unjank swap simulate. The output names
the cheapest policy of each size for --write-cost. All numbers are modelled.")]
#[command(group = clap::ArgGroup::new("input").required(true).multiple(true))]
pub(crate) struct Args {
    /// Traces; each is simulated by itself
    #[arg(value_name = "TRACE", group = "input")]
    pub(super) traces: Vec<PathBuf>,
    /// Synthetic phones with their memory, in addition to traces: see unjank swap synth; or all
    #[arg(long, value_name = "NAME,…", value_delimiter = ',', group = "input")]
    pub(super) preset: Vec<String>,
    /// Sizes of memory that programs can have [default: none, or the preset's]
    #[arg(long, value_name = "SIZE,…|A..B/N", value_delimiter = ',')]
    pub(super) memory: Vec<Sizes>,
    /// Sizes of the tier
    #[arg(
        long,
        value_name = "SIZE,…|A..B/N",
        value_delimiter = ',',
        default_value = "32MiB..512MiB/5"
    )]
    pub(super) tier: Vec<Sizes>,
    /// Policies of the tier
    #[arg(long, value_name = "POLICY,…", value_delimiter = ',', default_value = "all", value_parser = policies)]
    pub(super) policy: Vec<Policies>,
    /// Write all combinations as a Parquet table
    #[arg(long, value_name = "FILE")]
    pub(super) out: Option<PathBuf>,
    /// Start over instead of continuing an earlier sweep into the same table
    #[arg(long, requires = "out", conflicts_with = "claim")]
    pub(super) restart: bool,
    /// Keep finished units in a directory that other processes share: each takes units that no
    /// other has claimed, until all are done
    #[arg(long, value_name = "DIR")]
    pub(super) claim: Option<PathBuf>,
    /// Only the units of one shard: 2/8 is the second of eight
    #[arg(long, value_name = "I/N")]
    pub(super) shard: Option<Shard>,
    #[command(flatten)]
    pub(super) write_cost: WriteCostArgs,
    #[command(flatten)]
    pub(super) machine: MachineArgs,
    #[command(flatten)]
    pub(super) reading: ReadingArgs,
    #[command(flatten)]
    pub(super) output: OutputArgs,
}
