//! `unjank jitter jvm`: wake-ups in a JVM beside its garbage collector.

mod cpus;
pub(crate) mod found;

use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::Result;
use unjank_host::sched::{CpuSet, Priority};
use unjank_host::{Bytes, Error, Nanos};
use unjank_jitter::jvm::cell::{self, Cell, Load, Way};
use unjank_jitter::jvm::collector::Collector;
use unjank_jitter::jvm::jdk::Jdk;
use unjank_jitter::jvm::matrix::{self, Options, PATIENCE};
use unjank_jitter::jvm::variant::{Priorities, Variant};
use unjank_measure::number::counted;

use cpus::Cpus;

use crate::commands::measured::{self, OutputArgs, Settings};
use crate::{paths, values};

/// Wake-ups of a cell with `--quick`: with the starts of JVMs, all cells take a minute.
const QUICK: u64 = 2_000;
/// Patience with a JVM with `--quick`.
const QUICK_PATIENCE: Nanos = Nanos::from_millis(10_000);

/// Arguments of `unjank jitter jvm`.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  sudo unjank jitter jvm --quick                       # every variant in the newest JVM: a minute
  sudo unjank jitter jvm --count 120000 --way timer    # as Higashiyama et al.
  sudo unjank jitter jvm --cpus one --cpus all --rounds 5
  sudo unjank jitter jvm --collectors g1,zgc --variants thread,inversion-aware
  sudo unjank jitter jvm --rivals 1 --garbage yes      # beside another program that computes
  unjank jitter jvm --variants normal --garbage yes    # without any privilege
  sudo unjank jitter jvm --html jvm.html

A thread of a JVM wakes once in each period and records how late, while other threads make
garbage. The variant decides what is real-time (SCHED_FIFO):
  normal           nothing
  whole-process    every thread at one priority: the starting point of Higashiyama et al.
  thread           only the measuring thread: their remedy
  inversion-aware  the measuring thread; below it the collector's workers; the VM thread
                   stays ordinary, with the best nice value
  process          the wake-ups, in another process: future work of Higashiyama et al.
  native           the wake-ups, on a native thread of the same process: likewise
Every combination of JVM, collector, CPUs, garbage and variant is a cell. Cells are measured
in random order.")]
pub(crate) struct Args {
    /// Wake-ups of each cell
    #[arg(long = "count", short = 'n', value_name = "N", default_value_t = 10_000, value_parser = clap::value_parser!(u64).range(100..=cell::MOST_WAKEUPS))]
    wakeups: u64,
    /// Measure 2000 wake-ups of each cell, in the newest JVM beside garbage, unless --jdk and
    /// --garbage name others: a minute
    #[arg(long, conflicts_with = "wakeups")]
    quick: bool,
    /// Time between two wake-ups
    #[arg(long, value_name = "TIME", default_value = "1ms", value_parser = values::duration)]
    period: Nanos,
    /// How the thread waits: park is LockSupport.parkNanos until absolute moments, timer is
    /// java.util.TimerTask, as in the paper
    #[arg(long, value_name = "park|timer", default_value_t = Way::Park)]
    way: Way,
    /// Variants to measure, described below
    #[arg(long, value_delimiter = ',', value_name = "VARIANT,…", default_values_t = Variant::ALL)]
    variants: Vec<Variant>,
    /// Collectors: serial, parallel, g1, zgc, shenandoah
    #[arg(long, value_delimiter = ',', value_name = "NAME,…", default_value = "serial,g1")]
    collectors: Vec<Collector>,
    /// Measure with garbage, without, or both [default: both]
    #[arg(long, value_enum)]
    garbage: Option<Garbage>,
    /// Threads that make garbage
    #[arg(long, value_name = "N", default_value_t = 2, value_parser = clap::value_parser!(u32).range(1..=64))]
    garbage_threads: u32,
    /// Garbage: objects that were never referenced, as in the paper, or also objects that lived for
    /// a while, which needs full collections
    #[arg(long = "objects", value_name = "unreferenced|replacing", default_value_t = cell::Garbage::Unreferenced)]
    load: cell::Garbage,
    /// Ordinary threads outside of the JVM that compute on its CPUs all the time
    #[arg(long, value_name = "N", default_value_t = 0, value_parser = clap::value_parser!(u32).range(0..=64))]
    rivals: u32,
    /// Size of the heap
    #[arg(long, value_name = "SIZE", default_value = "256MiB", value_parser = values::bytes)]
    heap: Bytes,
    /// Size of the live set
    #[arg(long, value_name = "SIZE", default_value = "64MiB", value_parser = values::bytes)]
    live: Bytes,
    /// CPUs of the whole JVM: one (the last that this process may use), all, or a list; repeat the
    /// option to measure several
    #[arg(long, value_name = "LIST|one|all", default_value = "one")]
    cpus: Vec<Cpus>,
    /// How often each cell is measured, each time with a new JVM; from 4 on, intervals hold how
    /// JVMs differ
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=1000))]
    rounds: u32,
    /// Do not trace the scheduler; only delays caused by the JVM are explained
    #[arg(long)]
    no_trace: bool,
    /// Priority of the measuring thread, and of all threads with whole-process
    #[arg(long, value_name = "1-99", default_value = "80", value_parser = values::priority)]
    priority: Priority,
    /// Priority of the collector's workers with inversion-aware
    #[arg(long, value_name = "1-99", default_value = "70", value_parser = values::priority)]
    vm_priority: Priority,
    /// Allow priorities above 90, and machines without real-time throttling
    #[arg(long)]
    force: bool,
    /// Home of a JVM; can be repeated [default: all JVMs found, from version 17 on]
    #[arg(long, value_name = "DIR")]
    jdk: Vec<PathBuf>,
    /// The measuring application [default: beside this program, or built by `make java`]
    #[arg(long, value_name = "FILE")]
    jar: Option<PathBuf>,
    #[command(flatten)]
    output: OutputArgs,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
enum Garbage {
    Yes,
    No,
    Both,
}

pub(crate) fn run(args: &Args) -> Result<ExitCode> {
    let jar = found::jar(args.jar.as_ref())?;
    let mut jdks = found::jdks(&args.jdk)?;
    let others = if args.quick && args.jdk.is_empty() { jdks.len().saturating_sub(1) } else { 0 };
    // The newest one comes last.
    jdks.drain(..others);
    if args.vm_priority >= args.priority && args.variants.contains(&Variant::InversionAware) {
        let what = format!(
            "--vm-priority {} is not below --priority {}",
            args.vm_priority.get(),
            args.priority.get()
        );
        return Err(Error::Invalid(what).into());
    }
    let allowed = CpuSet::allowed()?;
    let cpus: Vec<CpuSet> =
        args.cpus.iter().map(|cpus| cpus.of(&allowed)).collect::<unjank_host::Result<_>>()?;
    let load = Load {
        wakeups: if args.quick { QUICK } else { args.wakeups },
        period: args.period,
        way: args.way,
        garbage_threads: args.garbage_threads,
        kind: args.load,
        rivals: args.rivals,
        heap: args.heap,
        live: args.live,
        priorities: Priorities { measuring: args.priority, vm: args.vm_priority },
    };
    load.check()?;
    let cells = cells(args, &jdks, &cpus);
    let settings = settings(args, &load, &cpus, &jdks);
    let command = measured::Command { name: "jitter jvm", output: &args.output, settings };
    command.run(|root, seed, monitor| {
        let rounds = args.rounds as usize;
        let (trace, force) = (!args.no_trace, args.force);
        let scratch = paths::temporary_directory()?;
        let directory = scratch.path().to_owned();
        let patience = if args.quick { QUICK_PATIENCE } else { PATIENCE };
        let options = Options { cells, load, rounds, jar, patience, directory, trace, force, seed };
        let mut findings = matrix::run(&options, root, monitor)?;
        for reason in left_out(args, others) {
            findings.warn(reason);
        }
        Ok(findings)
    })
}

/// What `--quick` leaves out, beside `others`, which are JVMs.
fn left_out(args: &Args, others: usize) -> Vec<String> {
    let mut left_out = Vec::new();
    if others > 0 {
        let others = counted(others, "other JVM is", "other JVMs are");
        left_out.push(format!("{others} left out by --quick; --jdk names them"));
    }
    if args.quick && args.garbage.is_none() {
        left_out.push(
            "cells without garbage are left out by --quick; --garbage both has them".to_owned(),
        );
    }
    left_out
}

fn cells(args: &Args, jdks: &[Jdk], cpus: &[CpuSet]) -> Vec<Cell> {
    let garbage: &[bool] = match (args.garbage, args.quick) {
        (Some(Garbage::Yes), _) | (None, true) => &[true],
        (Some(Garbage::No), _) => &[false],
        (Some(Garbage::Both), _) | (None, false) => &[false, true],
    };
    let mut cells = Vec::new();
    for jdk in jdks {
        for &collector in &args.collectors {
            for &garbage in garbage {
                for &variant in &args.variants {
                    cells.extend(cpus.iter().map(|cpus| {
                        let (jdk, cpus) = (jdk.clone(), cpus.clone());
                        Cell { jdk, collector, garbage, variant, cpus }
                    }));
                }
            }
        }
    }
    cells
}

fn settings(args: &Args, load: &Load, cpus: &[CpuSet], jdks: &[Jdk]) -> Settings {
    let names = |all: Vec<String>| all;
    Settings::default()
        .with("count", load.wakeups)
        .with("period", load.period.get())
        .with("way", load.way.to_string())
        .with("variants", names(args.variants.iter().map(ToString::to_string).collect()))
        .with("collectors", names(args.collectors.iter().map(ToString::to_string).collect()))
        .with("garbage_threads", load.garbage_threads)
        .with("objects", load.kind.to_string())
        .with("rivals", load.rivals)
        .with("heap", load.heap.get())
        .with("live", load.live.get())
        .with("cpus", names(cpus.iter().map(ToString::to_string).collect()))
        .with("rounds", args.rounds)
        .with("traced", !args.no_trace)
        .with("priority", load.priorities.measuring.get())
        .with("vm_priority", load.priorities.vm.get())
        .with("jdk", names(jdks.iter().map(ToString::to_string).collect()))
}
