//! `unjank jitter native`: how late threads wake from absolute-time sleeps.

use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::Result;
use unjank_host::Nanos;
use unjank_host::sched::{CpuSet, Priority};
use unjank_jitter::{Options, Scheduling, explain};
use unjank_report::Detail;

use crate::commands::measured::{self, OutputArgs, Settings};
use crate::values;

/// Arguments of `unjank jitter native`.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  unjank jitter native
  unjank jitter native --cpus 1 --policy fifo --priority 90 --period 1ms --for 60s
  sudo unjank jitter native --cause --for 30s
  sudo unjank jitter native --policy fifo --break-above 500us --trace-file late.txt
  unjank jitter native --policy other --json | jq '.series[0].summary'

The latency of a wake-up is the time from the moment asked for until the
thread reads the clock. A period that passes while a late thread has not yet
run is counted as missed, never dropped.

As in cyclictest: -p is --priority, -i --period, -a --cpus, -D --for, and -b
--break-above.

--cause and --break-above record scheduler events in a trace instance of their
own, which is removed afterwards; nobody else's tracing is touched.")]
pub(crate) struct Args {
    /// CPUs to measure on, one thread each [default: all this process may use]
    #[arg(long, value_name = "LIST")]
    cpus: Option<CpuSet>,
    /// Scheduling policies, measured one after the other
    #[arg(
        long,
        value_enum,
        value_delimiter = ',',
        value_name = "POLICY,…",
        default_value = "other,fifo"
    )]
    policy: Vec<Policy>,
    /// Real-time priority for fifo (above 90 only with --force)
    #[arg(long, value_name = "1-99", default_value_t = 80)]
    priority: u8,
    /// Time between two wake-ups
    #[arg(long, value_name = "TIME", default_value = "1ms", value_parser = values::duration, allow_hyphen_values = true)]
    period: Nanos,
    /// How long to measure, each policy
    #[arg(long = "for", value_name = "TIME", default_value = "10s", value_parser = values::duration, allow_hyphen_values = true)]
    duration: Nanos,
    /// Two seconds for each policy
    #[arg(long, conflicts_with = "duration")]
    quick: bool,
    /// Stop at the first wake-up later than this
    #[arg(long, value_name = "TIME", value_parser = values::duration, allow_hyphen_values = true)]
    break_above: Option<Nanos>,
    /// Trace the scheduler meanwhile and say who ran instead of the latest threads (needs root)
    #[arg(long)]
    cause: bool,
    /// Where to keep the trace when --break-above stops the run [default: unjank-trace.txt]
    #[arg(
        long,
        value_name = "FILE",
        requires = "break_above",
        hide_default_value = true,
        default_value_if(
            "break_above",
            clap::builder::ArgPredicate::IsPresent,
            "unjank-trace.txt"
        )
    )]
    trace_file: Option<PathBuf>,
    /// Allow priorities above 90, and machines without real-time throttling
    #[arg(long)]
    force: bool,
    #[command(flatten)]
    output: OutputArgs,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
enum Policy {
    /// As an ordinary thread (SCHED_OTHER)
    Other,
    /// As a real-time thread (SCHED_FIFO)
    Fifo,
}

/// Measures and prints.
pub(crate) fn run(args: &Args) -> Result<ExitCode> {
    let priority = Priority::new(args.priority)?;
    let cpus = match &args.cpus {
        Some(cpus) => cpus.clone(),
        None => CpuSet::allowed()?,
    };
    let options = Options {
        cpus,
        schedulings: args
            .policy
            .iter()
            .map(|policy| match policy {
                Policy::Other => Scheduling::Other,
                Policy::Fifo => Scheduling::Fifo(priority),
            })
            .collect(),
        period: args.period,
        duration: if args.quick { Nanos::from_millis(2_000) } else { args.duration },
        break_above: args.break_above,
        cause: args.cause,
        trace_file: args.trace_file.clone(),
        force: args.force,
    };
    let command = measured::Command {
        name: "jitter native",
        output: &args.output,
        settings: settings(&options),
        detail: Detail::Everything,
    };
    command.run(|root, _, monitor| {
        let mut findings = unjank_jitter::run(&options, root, monitor)?;
        findings.verdicts.push(explain::verdict(&findings));
        Ok(findings)
    })
}

fn settings(options: &Options) -> Settings {
    let policies: Vec<String> =
        options.schedulings.iter().map(|scheduling| scheduling.policy().to_string()).collect();
    Settings::default()
        .with("cpus", options.cpus.to_string())
        .with("policy", policies)
        .with("period", options.period.get())
        .with("for", options.duration.get())
        .with("break_above", options.break_above.map(Nanos::get))
        .with("cause", options.cause)
        .with("force", options.force)
}
