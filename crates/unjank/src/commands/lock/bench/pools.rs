//! `unjank lock bench --pool`: compares thread pools.

use std::process::ExitCode;

use anyhow::Result;
use unjank_host::sched::CpuSet;
use unjank_lock::pools::{self, Options};

use super::args::{Args, replace};
use crate::commands::measured::{self, Settings};
use crate::output;

pub(super) fn run(args: &Args) -> Result<ExitCode> {
    let options = options(args)?;
    options.check()?;
    args.meter.check()?;
    output::remark(&format!(
        "{} pools of {} threads, {} gaps, {} rounds: about {}",
        options.pools.len(),
        options.threads,
        options.gaps.len(),
        options.rounds,
        options.duration()
    ));
    let gaps: Vec<u64> = options.gaps.iter().map(|gap| gap.get()).collect();
    let command = measured::Command {
        name: "lock bench",
        output: &args.output,
        settings: Settings::default()
            .with("pool", true)
            .with("threads", options.threads)
            .with("gap", gaps)
            .with("rounds", options.rounds)
            .with("trial", options.trial.get())
            .with("meter", args.meter.typed()),
    };
    command.run(|root, seed, monitor| {
        let meter = args.meter.open(root)?;
        let (_, mut findings) = pools::run(&options, &meter, seed, monitor)?;
        args.meter.note(&meter, "lock/pool/power", &mut findings);
        Ok(findings)
    })
}

fn options(args: &Args) -> Result<Options> {
    let cpus = CpuSet::allowed()?.len();
    let mut options = if args.quick { Options::quick(cpus) } else { Options::usual(cpus) };
    replace(&mut options.gaps, &args.gap);
    options.rounds = args.rounds.unwrap_or(options.rounds);
    options.trial = args.trial.unwrap_or(options.trial);
    Ok(options)
}
