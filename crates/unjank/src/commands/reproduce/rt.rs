//! `unjank reproduce rt`: the experiment of Higashiyama et al. in a JVM.

use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::Result;
use unjank_host::sched::{CpuSet, Priority};
use unjank_host::{Bytes, Nanos, Root};
use unjank_jitter::jvm::cell::{self, Cell, Garbage, Load, Way};
use unjank_jitter::jvm::claims::claims;
use unjank_jitter::jvm::collector::Collector;
use unjank_jitter::jvm::jdk::Jdk;
use unjank_jitter::jvm::matrix::{self, Options, PATIENCE};
use unjank_jitter::jvm::paper::PUBLISHED;
use unjank_jitter::jvm::variant::Priorities;
use unjank_measure::{Findings, Monitor};

use super::paper::{Paper, means};
use crate::commands::jitter::jvm::found;
use crate::commands::measured::{self, OutputArgs, Settings};
use crate::{exit, paths, values};

pub(super) const PAPER: Paper = Paper { name: "rt", authors: "Higashiyama et al." };

/// Wake-ups of each cell in each round: with six rounds, the paper's 120,000.
const WAKEUPS: u64 = 20_000;
const QUICK: u64 = 2_000;

/// Arguments of `unjank reproduce rt`.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  sudo unjank reproduce rt --quick            # a minute
  sudo unjank reproduce rt                    # 120,000 wake-ups of each kind: seven minutes
  sudo unjank reproduce rt --rounds 12 --collector g1 --jdk /usr/lib/jvm/temurin-25

A java.util.TimerTask wakes each millisecond: without garbage and beside threads that make
garbage with every thread of the JVM real-time, and beside garbage with only the measuring
thread real-time, as in the paper. Each round has new JVMs, in random order. The worst
wake-ups of a round are compared: the machine is another one than the paper's, so which of
two is longer counts, not how long it is. The JVM runs on the last CPU that this process may
use, as the paper's device has one. unjank jitter jvm has more variants.")]
pub(crate) struct Args {
    /// Wake-ups of each kind in each round [default: 20000]
    #[arg(long = "count", short = 'n', value_name = "N", value_parser = clap::value_parser!(u64).range(100..=cell::MOST_WAKEUPS))]
    wakeups: Option<u64>,
    /// 2000 wake-ups of each kind in each round
    #[arg(long, conflicts_with = "wakeups")]
    quick: bool,
    /// How often each kind is measured; fewer than 6 give no interval
    #[arg(long, value_name = "N", default_value_t = 6, value_parser = clap::value_parser!(u32).range(1..=1000))]
    rounds: u32,
    /// Collector: serial, parallel, g1, zgc, shenandoah
    #[arg(long, value_name = "NAME", default_value = "serial")]
    collector: Collector,
    /// Home of the JVM [default: the newest one found, from version 17 on]
    #[arg(long, value_name = "DIR")]
    jdk: Option<PathBuf>,
    /// The measuring application [default: beside this program, or built by `make java`]
    #[arg(long, value_name = "FILE")]
    jar: Option<PathBuf>,
    /// Priority of real-time threads
    #[arg(long, value_name = "1-99", default_value = "80", value_parser = values::priority)]
    priority: Priority,
    /// Allow priorities above 90, and machines without real-time throttling
    #[arg(long)]
    force: bool,
    #[command(flatten)]
    output: OutputArgs,
}

impl Args {
    fn wakeups(&self) -> u64 {
        self.wakeups.unwrap_or(if self.quick { QUICK } else { WAKEUPS })
    }

    fn load(&self) -> Load {
        Load {
            wakeups: self.wakeups(),
            period: Nanos::from_millis(1),
            way: Way::Timer,
            garbage_threads: 2,
            kind: Garbage::Unreferenced,
            rivals: 0,
            heap: Bytes::from_mib(256),
            live: Bytes::from_mib(64),
            priorities: Priorities { measuring: self.priority, vm: self.priority },
        }
    }
}

pub(super) fn run(args: &Args) -> Result<ExitCode> {
    let settings = Settings::default()
        .with("count", args.wakeups())
        .with("rounds", args.rounds)
        .with("collector", args.collector.to_string())
        .with("priority", args.priority.get());
    let command = measured::Command { name: "reproduce rt", output: &args.output, settings };
    command.run(|root, seed, monitor| measure(args, root, seed, monitor))
}

/// The claims without a JVM.
fn without(error: &anyhow::Error) -> Findings {
    let mut findings = Findings::default();
    findings.not_supported("jitter/jvm", exit::sentence(error));
    let claims = claims(&findings, means());
    PAPER.conclude(&claims, &mut findings);
    findings
}

/// The claims beside the worst wake-ups of one JVM.
pub(super) fn measure(
    args: &Args,
    root: &Root,
    seed: u64,
    monitor: &dyn Monitor,
) -> Result<Findings> {
    let load = args.load();
    load.check()?;
    let named: Vec<PathBuf> = args.jdk.iter().cloned().collect();
    let parts = found::jar(args.jar.as_ref()).and_then(|jar| Ok((jar, found::jdks(&named)?)));
    let (jar, jdks) = match parts {
        Ok(parts) => parts,
        Err(error) if exit::code(&error) == exit::UNSUPPORTED => return Ok(without(&error)),
        Err(error) => return Err(error),
    };
    let cpus = CpuSet::new(CpuSet::allowed()?.iter().last());
    let cell = |jdk: &Jdk, published: usize| Cell {
        jdk: jdk.clone(),
        collector: args.collector,
        garbage: PUBLISHED[published].garbage,
        variant: PUBLISHED[published].variant,
        cpus: cpus.clone(),
    };
    let cells = jdks.last().map(|jdk| (0..PUBLISHED.len()).map(|which| cell(jdk, which)).collect());
    let scratch = paths::temporary_directory()?;
    let options = Options {
        cells: cells.unwrap_or_default(),
        load,
        rounds: args.rounds as usize,
        jar,
        patience: PATIENCE,
        directory: scratch.path().to_owned(),
        trace: true,
        force: args.force,
        seed,
    };
    let mut findings = matrix::run(&options, root, monitor)?;
    let claims = claims(&findings, means());
    PAPER.conclude(&claims, &mut findings);
    Ok(findings)
}
