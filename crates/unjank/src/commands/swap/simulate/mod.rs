//! `unjank swap simulate`: replays a trace through memory over a tier over storage.

use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::{Result, bail};
use unjank_cachesim::tier::TierPolicy;
use unjank_host::{Bytes, Error};
use unjank_measure::Findings;
use unjank_swap::simulate::{self, Options};
use unjank_swap::synth::Preset;

use super::input::{Loaded, MachineArgs, Source};
use super::policies::{Policies, flatten, policies};
use super::reading::ReadingArgs;
use super::write_cost::WriteCostArgs;
use crate::commands::measured::{self, OutputArgs};
use crate::values;

/// Arguments of `unjank swap simulate`.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  unjank swap simulate --preset games                    # a synthetic phone with 1 GiB
  unjank swap simulate swap.parquet --tier 128MiB        # page-ins and page-outs, as captured
  unjank swap simulate app.parquet --memory 512MiB --tier 64MiB --policy paper,always/arc
  unjank swap simulate --preset games --swap off         # apps are killed instead
  unjank swap simulate sda.blktrace.* --tier 1GiB --policy all
  unjank swap simulate swap.parquet --write-budget 10MiB/s   # a tier that wears out
  unjank swap simulate swap.parquet --write-cost 0.3     # a write costs 0.3 reads of storage

With --memory, reads, writes and first touches of the trace are accesses of programs.
Without it, they are page-ins and page-outs of a real memory, which go to the tier unchanged.

A policy (--policy) is RULE/REPLACEMENT: which pages enter the tier, and which page leaves.
  RULE         always, second (from the second eviction on), ghost=TIMES,
               reject-first=TIMES (windows of so many times the tier),
               refault (came back sooner than the page of the tier that stays
               away for the longest), gate=LIFE (counters of four bits), age (mmd's)
  REPLACEMENT  fifo, lru, clock, clock-pro, sieve, s3-fifo, 2q, arc, lirs,
               w-tinylfu, w-tinylfu-exact, larc, slru, lfu, lfu-da, car, lecar,
               hyperbolic, lhd, mq
  refault      refault/lru: unjank's own
  paper        second/lru: Bahn & Kim
  mmd          age/lru: Android's memory daemon, with its constants
  all          every rule with LRU, and every replacement policy with always
Without --policy, the first policy depends on the cost of a write (--write-cost):
always/lru up to 0.05, paper up to 0.25, refault above.
docs/reference/swap/simulate.md explains the policies and the output. All numbers are modelled:
nothing is measured.")]
#[command(group = clap::ArgGroup::new("input").required(true))]
pub(crate) struct Args {
    /// Traces, compressed or not, or - for stdin; several are merged by time
    #[arg(value_name = "TRACE", group = "input")]
    traces: Vec<PathBuf>,
    /// A synthetic phone with its memory instead of a trace: see unjank swap synth
    #[arg(long, value_name = "NAME", value_parser = Preset::named, group = "input")]
    preset: Option<&'static Preset>,
    /// Memory that programs can have [default: none, or the preset's]
    #[arg(long, value_name = "SIZE", value_parser = values::bytes)]
    memory: Option<Bytes>,
    /// Size of the tier
    #[arg(long, value_name = "SIZE", default_value = "256MiB", value_parser = values::bytes)]
    tier: Bytes,
    /// Policies of the tier [default: the one for --write-cost, then refault, paper, always/lru and
    /// gate/lru]
    #[arg(long, value_name = "POLICY,…", value_delimiter = ',', value_parser = policies)]
    policy: Vec<Policies>,
    /// Whether there is swap
    #[arg(long, value_enum, default_value = "both")]
    swap: Swap,
    #[command(flatten)]
    write_cost: WriteCostArgs,
    #[command(flatten)]
    machine: MachineArgs,
    #[command(flatten)]
    reading: ReadingArgs,
    #[command(flatten)]
    output: OutputArgs,
}

const NO_LAUNCHES: &str = "`--swap off` needs app launches; this trace has none, or --memory is \
                           missing";

#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
enum Swap {
    /// With swap and without
    Both,
    /// With swap
    On,
    /// Without swap: when memory is full, the app that was launched longest ago is killed
    Off,
}

pub(crate) fn run(args: &Args) -> Result<ExitCode> {
    let source = Source::new(&args.traces, args.preset)?;
    let memory = args.memory.or(args.preset.map(|preset| preset.phone.memory()));
    let write_cost = args.write_cost.get();
    let typed = args.policy.clone();
    let policies =
        if typed.is_empty() { vec![TierPolicy::usual(write_cost).into()] } else { typed };
    let options = Options {
        memory: memory.map(|size| args.machine.memory(size, args.preset)),
        tier: args.tier,
        policies: flatten(&policies),
        write_budget: args.machine.write_budget(),
        swap: match args.swap {
            Swap::Both => simulate::Swap::Both,
            Swap::On => simulate::Swap::On,
            Swap::Off => simulate::Swap::Off,
        },
        latency: args.machine.latency(),
        write_cost,
    };
    let mut settings = args
        .machine
        .settings()
        .with("trace", source.name())
        .with("tier", args.tier.get())
        .with("write_cost", write_cost);
    if let Some(memory) = &options.memory {
        settings = settings
            .with("memory", memory.size.get())
            .with("pinned", memory.pinned.get())
            .with("minfree", memory.minfree.get());
    }
    let command = measured::Command { name: "swap simulate", output: &args.output, settings };
    command.run(|_, _, monitor| {
        let (machine, reading, seed) = (&args.machine, &args.reading, args.output.seed);
        let load = source.load(memory.is_some(), seed, machine, reading, monitor)?;
        let Some(Loaded { load, read }) = load else { return Ok(Findings::default()) };
        let mut warnings: Vec<String> = load.assumption().into_iter().collect();
        warnings.extend(machine.hold_to_budget(&load)?);
        let simulated = simulate::run(&load, &options, monitor)?;
        if simulated.results.is_empty() {
            bail!(Error::Invalid(NO_LAUNCHES.to_owned()));
        }
        let mut findings = read.map(|read| read.findings()).unwrap_or_default();
        findings.merge(simulate::findings(&simulated, &options, &source.name()));
        findings.warnings.extend(warnings);
        Ok(findings)
    })
}
