//! `unjank lock bench`: ways to wait for a lock against each other.

mod pools;

use std::process::ExitCode;

use anyhow::{Context as _, Result};
use unjank_host::journal::{Outcome, Session};
use unjank_host::sched::CpuSet;
use unjank_host::{Nanos, Root};
use unjank_lock::bench::{self, Environment, Means, Options};

use super::peer;
use crate::commands::keeper;
use crate::commands::measured::{self, OutputArgs, Settings};
use crate::{output, paths, values};

/// Arguments of `unjank lock bench`.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  unjank lock bench --quick
  unjank lock bench --strategies all --html locks.html
  unjank lock bench --threads 2,8 --section 0,1us --outside 2us --strategies spin,crossbeam
  sudo unjank lock bench --environment idle,load,quota,priorities,pinned
  unjank lock bench --paper
  unjank lock bench --pool --gap 200us,5ms

Strategies: std, parking_lot, unjank, spin, crossbeam (Backoff), pthread, pthread-adaptive,
pthread-pi, and the paper's: busy, sleep0 (sched_yield), sleep1, pause-yield. std and
parking_lot are always measured: the others are compared with the better of them. unjank
(unjank-backoff's mutex) and pause-yield are measured unless others are named.

Environments: idle; load (a busy thread for each CPU in another process); quota (half of
the CPUs' time, in a control group); priorities (every second thread nicer by 10); pinned
(all threads on one CPU). --paper is the paper's experiment: threads take tasks from one
queue that a lock protects, and the others are compared with sleep0. --pool is about thread
pools: how soon work begins, and how much CPU time that takes. docs/reference/lock.md")]
pub(crate) struct Args {
    /// Ways to wait, or all [default: some of them, see below]
    #[arg(long, value_name = "NAME,…", value_delimiter = ',')]
    strategies: Vec<String>,
    /// Threads that take the lock [default: 1,2,4,8,16,32]
    #[arg(long, value_name = "N,…", value_delimiter = ',')]
    threads: Vec<usize>,
    /// How long they hold it [default: 0,100ns,1us,20us]
    #[arg(long, value_name = "TIME,…", value_delimiter = ',', value_parser = values::duration_or_zero)]
    section: Vec<Nanos>,
    /// How long they leave it alone [default: 0,2us]
    #[arg(long, value_name = "TIME,…", value_delimiter = ',', value_parser = values::duration_or_zero)]
    outside: Vec<Nanos>,
    /// What else goes on: idle, load, quota, priorities, pinned [default: idle]
    #[arg(long, value_name = "NAME,…", value_delimiter = ',', value_parser = environment)]
    environment: Vec<Environment>,
    /// How often each strategy visits each cell; fewer than 6 decide nothing [default: 6]
    #[arg(long, value_name = "N")]
    rounds: Option<usize>,
    /// How long operations are counted, and then waits timed, with few threads [default: 100ms]
    #[arg(long, value_name = "TIME", value_parser = values::duration)]
    visit: Option<Nanos>,
    /// Fewer and shorter cells: less than a minute
    #[arg(long)]
    quick: bool,
    /// The paper's experiment: a pool that takes tasks of three grains from one queue
    #[arg(long)]
    paper: bool,
    /// Thread pools instead: unjank, rayon, threadpool, tokio's threads for blocking work
    #[arg(long, conflicts_with_all = ["strategies", "threads", "section", "outside", "environment", "paper"])]
    pool: bool,
    /// With --pool: from one piece of work to the next [default: 0,50us,1ms,10ms]
    #[arg(long, value_name = "TIME,…", value_delimiter = ',', value_parser = values::duration_or_zero, requires = "pool")]
    gap: Vec<Nanos>,
    #[command(flatten)]
    output: OutputArgs,
}

fn environment(text: &str) -> Result<Environment, String> {
    text.parse().map_err(|error: unjank_host::Error| error.to_string())
}

/// Measures and prints.
pub(crate) fn run(args: &Args) -> Result<ExitCode> {
    if args.pool {
        return pools::run(args);
    }
    let options = options(args)?;
    options.check()?;
    let cpus = CpuSet::allowed()?;
    let cells = options.cells().len() * options.environments.len();
    output::remark(&format!(
        "{cells} cells, {} strategies and a control, {} rounds: about {}",
        options.strategies.len(),
        options.rounds,
        options.duration(cpus.len())
    ));
    let command = measured::Command {
        name: "lock bench",
        output: &args.output,
        settings: settings(args, &options),
    };
    command.run(|root, seed, monitor| {
        let changes = options.environments.contains(&Environment::Quota);
        let session = if changes { Some(open(root)?) } else { None };
        let means = Means { root, session: session.as_ref(), peer: peer::command(), cpus };
        let measured = bench::run(&options, &means, seed, monitor);
        for report in session.map(Session::finish).unwrap_or_default() {
            if let Outcome::Failed { .. } = report.outcome {
                output::remark(&report.to_string());
            }
        }
        let (results, mut findings) = measured?;
        if args.paper {
            bench::paper::note(&results, &mut findings);
        }
        findings.tables.extend(bench::tables(&results, args.paper));
        Ok(findings)
    })
}

/// A preset, and what was typed instead of its parts.
fn options(args: &Args) -> Result<Options> {
    let mut options = match (args.paper, args.quick) {
        (false, false) => Options::usual(),
        (false, true) => Options::quick(),
        (true, false) => Options::paper(),
        (true, true) => Options::paper_quick(),
    };
    if !args.strategies.is_empty() {
        options = options.with_strategies(args.strategies.iter().map(String::as_str))?;
    }
    replace(&mut options.threads, &args.threads);
    replace(&mut options.sections, &args.section);
    replace(&mut options.outsides, &args.outside);
    replace(&mut options.environments, &args.environment);
    options.rounds = args.rounds.unwrap_or(options.rounds);
    options.phase = args.visit.unwrap_or(options.phase);
    Ok(options)
}

/// What was typed takes the place of the preset's, each value once.
fn replace<T: Copy + PartialEq>(preset: &mut Vec<T>, typed: &[T]) {
    if typed.is_empty() {
        return;
    }
    preset.clear();
    for value in typed {
        if !preset.contains(value) {
            preset.push(*value);
        }
    }
}

fn settings(args: &Args, options: &Options) -> Settings {
    let nanos = |times: &[Nanos]| times.iter().map(|time| time.get()).collect::<Vec<_>>();
    let names: Vec<&str> = options.strategies.iter().map(|strategy| strategy.name).collect();
    let environments: Vec<&str> = options.environments.iter().map(|one| one.name()).collect();
    Settings::default()
        .with("strategies", names)
        .with("threads", options.threads.clone())
        .with("section", nanos(&options.sections))
        .with("outside", nanos(&options.outsides))
        .with("environment", environments)
        .with("rounds", options.rounds)
        .with("visit", options.phase.get())
        .with("paper", args.paper)
}

fn open(root: &Root) -> Result<Session> {
    let state_dir = paths::journal()?;
    Session::open(root, &state_dir, keeper::command(&state_dir))
        .context("while making sure that everything can be put back")
}
