//! `unjank jitter bench`: compares `jitter native` with cyclictest in alternating pairs.

use std::process::ExitCode;

use anyhow::Result;
use unjank_host::Nanos;
use unjank_host::sched::{CpuSet, Priority};
use unjank_jitter::bench::{Comparison, against_cyclictest};

use crate::commands::measured::{self, OutputArgs, Settings};
use crate::values;

/// Arguments of `unjank jitter bench`.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  sudo unjank jitter bench
  sudo unjank jitter bench --dma-latency --pairs 20 --trial 10s

cyclictest -m -p90 -i1000 and jitter native measure in turn on one CPU. The
answer compares their median latencies within pairs; differences below 5 % are
ignored. cyclictest is in the package rt-tests.")]
pub(crate) struct Args {
    /// CPU to measure on [default: the last that this process may use]
    #[arg(long, value_name = "N")]
    cpu: Option<usize>,
    /// Real-time priority
    #[arg(long, value_name = "1-99", default_value = "90", value_parser = values::priority)]
    priority: Priority,
    /// Time between two wake-ups
    #[arg(long, value_name = "TIME", default_value = "1ms", value_parser = values::duration)]
    period: Nanos,
    /// Length of one trial
    #[arg(long, value_name = "TIME", default_value = "3s", value_parser = values::duration)]
    trial: Nanos,
    /// Pairs of trials
    #[arg(long, value_name = "N", default_value_t = 10)]
    pairs: usize,
    /// Six pairs of trials of one second: a wider interval
    #[arg(long, conflicts_with_all = ["trial", "pairs"])]
    quick: bool,
    /// Keep CPUs out of idle states during the run, as cyclictest does without --laptop
    #[arg(long)]
    dma_latency: bool,
    #[command(flatten)]
    output: OutputArgs,
}

pub(crate) fn run(args: &Args) -> Result<ExitCode> {
    let allowed = CpuSet::allowed()?;
    let cpu = args.cpu.or(allowed.iter().last()).unwrap_or_default();
    CpuSet::new([cpu]).within(&allowed)?;
    let comparison = Comparison {
        cpu,
        priority: args.priority,
        period: args.period,
        trial: if args.quick { Nanos::from_millis(1_000) } else { args.trial },
        pairs: if args.quick { 6 } else { args.pairs },
        dma_latency: args.dma_latency,
    };
    let settings = Settings::default()
        .with("cpu", comparison.cpu)
        .with("priority", comparison.priority.get())
        .with("period", comparison.period.get())
        .with("trial", comparison.trial.get())
        .with("pairs", comparison.pairs)
        .with("dma_latency", comparison.dma_latency);
    let command = measured::Command { name: "jitter bench", output: &args.output, settings };
    command.run(|root, seed, monitor| Ok(against_cyclictest(&comparison, root, seed, monitor)?))
}
