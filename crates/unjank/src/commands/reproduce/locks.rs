//! `unjank reproduce locks`: the experiment of Olivas & Chynoweth.

use std::process::ExitCode;

use anyhow::Result;
use unjank_host::sched::CpuSet;
use unjank_host::{Nanos, Root};
use unjank_lock::bench::{self, Options, Setup, paper};
use unjank_lock::pools;
use unjank_measure::monitor::Part;
use unjank_measure::{Findings, Monitor};

use super::paper::{Paper, means};
use crate::commands::lock::meter::MeterArgs;
use crate::commands::lock::peer;
use crate::commands::measured::{self, OutputArgs, Settings};
use crate::values;

pub(super) const PAPER: Paper = Paper { name: "locks", authors: "Olivas & Chynoweth" };

/// The shortest trial of idle workers.
const IDLE: Nanos = Nanos::from_millis(250);

/// Arguments of `unjank reproduce locks`.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  unjank reproduce locks --quick              # two minutes
  unjank reproduce locks --html locks.html
  unjank reproduce locks --rounds 12 --trial 500ms

Threads of a pool take tasks of three lengths (grains) from one queue that a lock protects,
and wait for it in the paper's four ways and in those of std, parking_lot and unjank; all
are compared with Sleep(0) alone (sched_yield). The paper's values are for 8 and 32 threads
on 12 hardware threads: on fewer CPUs its ratios cannot be expected, and the bound that no
lock exceeds here is printed. Then eight workers wait with each of the four loops for work
that comes every 10 ms: how soon it begins, and how many CPUs they use. unjank lock bench
measures other grids.")]
pub(crate) struct Args {
    /// Trials of each way in each cell; fewer than 6 give no interval [default: 6]
    #[arg(long, value_name = "N")]
    rounds: Option<usize>,
    /// Length of the phase that counts tasks [default: 100ms]
    #[arg(long, value_name = "TIME", value_parser = values::duration)]
    trial: Option<Nanos>,
    /// Pauses of an idle worker before it yields: `max_spin_count`, which the paper does not give
    #[arg(long, value_name = "N", default_value_t = 100)]
    max_spin_count: u32,
    /// Fewer and shorter cells: about two minutes
    #[arg(long)]
    quick: bool,
    #[command(flatten)]
    meter: MeterArgs,
    #[command(flatten)]
    output: OutputArgs,
}

impl Args {
    /// Idle workers: with an empty queue.
    fn idle(&self, options: &Options) -> pools::Options {
        // Ten pieces of work at least.
        let trial = options.phase.times(5).max(IDLE);
        pools::paper::options(self.max_spin_count, options.rounds, trial)
    }

    fn options(&self) -> Options {
        let mut options = if self.quick { Options::paper_quick() } else { Options::paper() };
        options.rounds = self.rounds.unwrap_or(options.rounds);
        options.phase = self.trial.unwrap_or(options.phase);
        options
    }
}

pub(super) fn run(args: &Args) -> Result<ExitCode> {
    let options = args.options();
    options.check()?;
    args.meter.check()?;
    let settings = Settings::default()
        .with("threads", options.threads.clone())
        .with("rounds", options.rounds)
        .with("trial", options.phase.get())
        .with("max_spin_count", args.max_spin_count)
        .with("meter", args.meter.typed());
    let command = measured::Command { name: "reproduce locks", output: &args.output, settings };
    command.run(|root, seed, monitor| measure(args, root, seed, monitor))
}

/// The claims beside this machine's tasks per second.
pub(super) fn measure(
    args: &Args,
    root: &Root,
    seed: u64,
    monitor: &dyn Monitor,
) -> Result<Findings> {
    let options = args.options();
    options.check()?;
    let cpus = CpuSet::allowed()?;
    let count = cpus.len();
    let meter = args.meter.open(root)?;
    let setup = Setup { root, session: None, peer: peer::command(), cpus, meter };
    let part = Part::new(monitor, "the queue's lock", 0.0, 0.9);
    let (results, mut findings) = bench::run(&options, &setup, seed, &part)?;
    findings.tables.extend(bench::tables(&results, true));
    let part = Part::new(monitor, "an empty queue", 0.9, 0.1);
    let (idle, found) = pools::run(&args.idle(&options), &setup.meter, seed, &part)?;
    findings.merge(found);
    let mut claims = paper::claims(&results, count, means());
    claims.extend(pools::paper::claims(&idle, count, means()));
    PAPER.conclude(&claims, &mut findings);
    Ok(findings)
}
