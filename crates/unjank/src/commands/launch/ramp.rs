//! `unjank launch ramp`: how fast CPUs reach full speed after an idle gap.

use std::process::ExitCode;

use anyhow::Result;
use unjank_host::Nanos;
use unjank_host::sched::CpuSet;
use unjank_launch::{Options, explain};

use crate::commands::measured::{self, OutputArgs, Settings};
use crate::commands::repeated::{self, Repeated};
use crate::values;

/// Arguments of `unjank launch ramp`.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  unjank launch ramp
  unjank launch ramp --cpus 0,4 --count 40 --html ramp.html
  unjank launch ramp --gap 2s --work 1s

After an idle gap, a loop of integer work is timed piece by piece (2 µs each).
Time to full speed ends with the first slice from which the running median
over five slices is at least 95 % of full speed; full speed is the highest
speed that half of the launches reach at the same time since wake. Each launch
is a fresh process.")]
pub(crate) struct Args {
    /// CPUs to measure, one after the other [default: all this process may use]
    #[arg(long, value_name = "LIST")]
    cpus: Option<CpuSet>,
    /// Launches on each CPU
    #[arg(long = "count", short = 'n', value_name = "N", default_value_t = 20, value_parser = clap::value_parser!(u32).range(1..=100_000))]
    launches: u32,
    /// Six launches on each CPU
    #[arg(long, conflicts_with = "launches")]
    quick: bool,
    /// Idle time before each launch
    #[arg(long, value_name = "TIME", default_value = "200ms", value_parser = values::duration_or_zero)]
    gap: Nanos,
    /// Length of the work of each launch
    #[arg(long, value_name = "TIME", default_value = "300ms", value_parser = values::duration)]
    work: Nanos,
    /// Resolution of the curve of speed against time
    #[arg(long, value_name = "TIME", default_value = "100us", value_parser = values::duration)]
    slice: Nanos,
    #[command(flatten)]
    output: OutputArgs,
}

pub(crate) fn run(args: &Args) -> Result<ExitCode> {
    let cpus = match &args.cpus {
        Some(cpus) => cpus.clone(),
        None => CpuSet::allowed()?,
    };
    let launches = if args.quick { 6 } else { args.launches };
    let options =
        Options { gap: args.gap, run: args.work, slice: args.slice, ..Options::usual(cpus) };
    let command = measured::Command {
        name: "launch ramp",
        output: &args.output,
        settings: settings(&options, launches),
    };
    command.run(|root, seed, monitor| {
        let all = launches.saturating_mul(options.cpus.len() as u32);
        options.check_here()?;
        let repeated = Repeated::launches(root, &options);
        let mut findings = repeated::run(repeated, all, seed, monitor)?;
        findings.verdicts.push(explain::verdict(&findings));
        Ok(findings)
    })
}

fn settings(options: &Options, launches: u32) -> Settings {
    Settings::default()
        .with("cpus", options.cpus.to_string())
        .with("count", launches)
        .with("gap", options.gap.get())
        .with("work", options.run.get())
        .with("slice", options.slice.get())
        .with("chunk", options.chunk.get())
}
