//! `unjank lock probe`: measures the cost of each way of waiting on this machine.

use std::process::ExitCode;

use anyhow::Result;
use unjank_host::Nanos;
use unjank_host::sched::CpuSet;
use unjank_lock::{Options, explain};

use crate::commands::measured::{self, OutputArgs, Settings};
use crate::commands::repeated::{self, Repeated, StartArgs};
use crate::commands::repetition::Task;
use crate::values;

/// Arguments of `unjank lock probe`.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  unjank lock probe
  unjank lock probe --cpus 0,4 --for 10s
  unjank lock probe --json | jq '.facts[] | select(.name == \"lock/break_even\")'

Two threads hand a turn to each other by spinning (pause), sched_yield, or
futex, on one CPU and on two. The break-even is how much longer a parked
hand-off takes than a spun one: spin for about that long before parking.")]
pub(crate) struct Args {
    /// CPUs of the two threads: the first two of these [default: of all this process may use]
    #[arg(long, value_name = "LIST")]
    cpus: Option<CpuSet>,
    /// How long to measure hand-offs, all together
    #[arg(long = "for", value_name = "TIME", default_value = "5s", value_parser = values::duration)]
    duration: Nanos,
    /// One second for all hand-offs together
    #[arg(long, conflicts_with = "duration")]
    quick: bool,
    #[command(flatten)]
    starts: StartArgs,
    #[command(flatten)]
    output: OutputArgs,
}

pub(crate) fn run(args: &Args) -> Result<ExitCode> {
    let duration = if args.quick { Nanos::from_millis(1_000) } else { args.duration };
    let (starts, length) = args.starts.divide(duration);
    let options = Options { cpus: args.cpus.clone(), duration: length, turn: 0 };
    let settings = Settings::default()
        .with("cpus", options.cpus.as_ref().map(ToString::to_string))
        .with("for", duration.get())
        .with("starts", starts);
    let command = measured::Command { name: "lock probe", output: &args.output, settings };
    command.run(|root, seed, monitor| {
        let repeated = Repeated::new(root, "hand-offs", length, |turn| {
            Task::Lock(Options { turn: turn as usize, ..options.clone() })
        });
        let mut findings = repeated::run(repeated, starts, seed, monitor)?;
        findings.verdicts.push(explain::verdict(&findings));
        Ok(findings)
    })
}
