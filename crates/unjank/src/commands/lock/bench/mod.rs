//! `unjank lock bench`: compares ways to wait for a lock.

mod args;
mod pools;

use std::process::ExitCode;

use anyhow::Result;
use unjank_host::Nanos;
use unjank_host::sched::CpuSet;
use unjank_lock::bench::{self, Environment, Options, Setup};

use super::peer;
use crate::commands::measured::{self, Settings};
use crate::commands::session;
use crate::output;

pub(crate) use args::Args;
use args::replace;

pub(crate) fn run(args: &Args) -> Result<ExitCode> {
    if args.pool {
        return pools::run(args);
    }
    let options = options(args)?;
    options.check()?;
    args.meter.check()?;
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
        settings: settings(&options).with("meter", args.meter.typed()),
    };
    command.run(|root, seed, monitor| {
        let changes = options.environments.contains(&Environment::Quota);
        let session = if changes { Some(session::open(root, None)?) } else { None };
        let meter = args.meter.open(root)?;
        let setup = Setup { root, session: session.as_ref(), peer: peer::command(), cpus, meter };
        let measured = bench::run(&options, &setup, seed, monitor);
        let ((results, mut findings), changes) = session::end(session, measured)?;
        session::note(changes, &mut findings);
        findings.tables.extend(bench::tables(&results, false));
        Ok(findings)
    })
}

/// A preset, with the typed values in place of its own.
fn options(args: &Args) -> Result<Options> {
    let mut options = if args.quick { Options::quick() } else { Options::usual() };
    if !args.strategies.is_empty() {
        options = options.with_strategies(args.strategies.iter().map(String::as_str))?;
    }
    replace(&mut options.threads, &args.threads);
    replace(&mut options.sections, &args.section);
    replace(&mut options.outsides, &args.outside);
    replace(&mut options.environments, &args.environment);
    options.rounds = args.rounds.unwrap_or(options.rounds);
    options.phase = args.trial.unwrap_or(options.phase);
    Ok(options)
}

fn settings(options: &Options) -> Settings {
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
        .with("trial", options.phase.get())
}
