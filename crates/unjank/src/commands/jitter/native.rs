//! `unjank jitter native`: the latency of wake-ups from absolute-time sleeps.

use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::Result;
use unjank_host::files::Destination;
use unjank_host::sched::{CpuSet, Priority};
use unjank_host::{Error, Nanos};
use unjank_jitter::{Moments, Options, Scheduling, explain};

use crate::commands::measured::{self, OutputArgs, Settings};
use crate::commands::repeated::{self, Repeated, StartArgs};
use crate::commands::repetition::Task;
use crate::values;

const USUAL_PRIORITY: u8 = 80;

/// Arguments of `unjank jitter native`.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  unjank jitter native
  unjank jitter native --cpus 1 --sched fifo --priority 90 --period 1ms --for 60s
  unjank jitter native --sched fifo,rr,deadline --runtime 100us --quick
  unjank jitter native --threads 4 --cpus 0 --sched fifo --priority-step 1 --distance 500us
  sudo unjank jitter native --trace --for 30s
  sudo unjank jitter native --sched fifo --break-above 500us --trace-file late.txt
  unjank jitter native --sched other --json | jq '.series[0].summary'

The wake-up latency is the time from the moment that a thread asked for until
it reads the clock. A period that passes before a late thread runs is counted
as missed, never dropped.

From cyclictest's options: -p is --priority, -i --period, -a --cpus, -t
--threads, -d --distance, -D --for, -l --count, -b --break-above, --latency
--dma-latency; docs/reference/jitter.md has the whole list.

SCHED_DEADLINE threads run on any CPU, so --cpus cannot be given with them.
Their period is that of the wake-ups.

--trace and --break-above record scheduler events in a trace instance of their
own and remove it afterwards; other tracing is not touched.")]
pub(crate) struct Args {
    /// CPUs to measure on; threads take turns on them [default: all this process may use]
    #[arg(long, value_name = "LIST")]
    cpus: Option<CpuSet>,
    /// Number of measuring threads [default: one for each CPU]
    #[arg(long, value_name = "N")]
    threads: Option<usize>,
    /// Scheduling policies, measured one after the other
    #[arg(
        long,
        value_enum,
        value_delimiter = ',',
        value_name = "POLICY,…",
        default_value = "other,fifo"
    )]
    sched: Vec<Policy>,
    /// Real-time priority for fifo and rr (above 90 only with --force) [default: 80]
    #[arg(long, value_name = "1-99", value_parser = values::priority)]
    priority: Option<Priority>,
    /// Lower the priority of each further thread by this, for fifo and rr [default: 0]
    #[arg(long, value_name = "N")]
    priority_step: Option<u8>,
    /// Guaranteed run time in each period, for deadline [default: a tenth of the period]
    #[arg(long, value_name = "TIME", value_parser = values::duration)]
    runtime: Option<Nanos>,
    /// Deadline of the run time within the period, for deadline [default: the period]
    #[arg(long, value_name = "TIME", value_parser = values::duration)]
    deadline: Option<Nanos>,
    /// Time between two wake-ups
    #[arg(long, value_name = "TIME", default_value = "1ms", value_parser = values::duration)]
    period: Nanos,
    /// Lengthen the period of each further thread by this
    #[arg(long, value_name = "TIME", default_value = "0s", value_parser = values::duration_or_zero)]
    distance: Nanos,
    /// How the wake-ups of the threads are spread
    #[arg(long, value_enum, default_value = "staggered")]
    moments: When,
    /// How long to measure each policy
    #[arg(long = "for", value_name = "TIME", default_value = "10s", value_parser = values::duration)]
    duration: Nanos,
    /// Measure each policy for two seconds
    #[arg(long, conflicts_with = "duration")]
    quick: bool,
    /// Measure each policy for this many wake-ups of the first thread
    #[arg(long = "count", short = 'n', value_name = "N", conflicts_with_all = ["duration", "quick"], value_parser = clap::value_parser!(u64).range(1..))]
    wakeups: Option<u64>,
    /// Stop at the first wake-up later than this
    #[arg(long, value_name = "TIME", value_parser = values::duration)]
    break_above: Option<Nanos>,
    /// Trace the scheduler and show the cause of the latest wake-ups (needs root)
    #[arg(long)]
    trace: bool,
    /// File for the trace when --break-above stops the run [default: unjank-trace.txt]
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
    /// Keep all CPUs out of idle states that take longer to leave than this (needs root)
    #[arg(long, value_name = "TIME", num_args = 0..=1, require_equals = true, default_missing_value = "0", value_parser = values::duration_or_zero)]
    dma_latency: Option<Nanos>,
    /// Allow priorities above 90, and machines without real-time throttling
    #[arg(long)]
    force: bool,
    #[command(flatten)]
    starts: StartArgs,
    #[command(flatten)]
    output: OutputArgs,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
enum Policy {
    /// Ordinary thread (SCHED_OTHER)
    Other,
    /// Real-time thread (SCHED_FIFO)
    Fifo,
    /// Real-time thread that shares time with others of its priority
    #[value(alias = "round-robin")]
    Rr,
    /// Guaranteed run time in each period
    Deadline,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
enum When {
    /// Evenly spread over the period
    Staggered,
    /// All at the same moments
    Together,
}

pub(crate) fn run(args: &Args) -> Result<ExitCode> {
    let options = options(args)?;
    options.check()?;
    if let Some(path) = &options.trace_file {
        // A start writes it, whose stdout carries its answer.
        Destination::open_file(path)?;
    }
    // A run that may stop at one late wake-up is a single start.
    let (starts, duration) = match options.break_above {
        Some(_) => (1, options.duration),
        None => args.starts.divide(options.duration),
    };
    let command = measured::Command {
        name: "jitter native",
        output: &args.output,
        settings: settings(&options).with("starts", starts),
    };
    command.run(|root, seed, monitor| {
        let length = duration.times(options.schedulings.len() as u64);
        let repeated = Repeated::new(root, "wake-ups", length, |turn| {
            let mut options = Options { duration, ..options.clone() };
            let schedulings = options.schedulings.len().max(1);
            options.schedulings.rotate_left(turn as usize % schedulings);
            Task::Jitter(options)
        });
        let mut findings = repeated::run(repeated, starts, seed, monitor)?;
        findings.verdicts.push(explain::verdict(&findings));
        Ok(findings)
    })
}

/// Refuses options for policies that are not measured.
fn check_policies(args: &Args) -> Result<(), Error> {
    let given = [
        ("--priority", args.priority.is_some(), &[Policy::Fifo, Policy::Rr][..]),
        ("--priority-step", args.priority_step.is_some(), &[Policy::Fifo, Policy::Rr]),
        ("--runtime", args.runtime.is_some(), &[Policy::Deadline]),
        ("--deadline", args.deadline.is_some(), &[Policy::Deadline]),
    ];
    for (option, is_given, policies) in given {
        if is_given && !args.sched.iter().any(|policy| policies.contains(policy)) {
            let of = if policies.contains(&Policy::Fifo) { "fifo or rr" } else { "deadline" };
            return Err(Error::Invalid(format!("{option} is for --sched {of}")));
        }
    }
    Ok(())
}

fn options(args: &Args) -> Result<Options> {
    check_policies(args)?;
    let priority = match args.priority {
        Some(priority) => priority,
        None => Priority::new(USUAL_PRIORITY)?,
    };
    let cpus = match &args.cpus {
        Some(cpus) => cpus.clone(),
        None => CpuSet::allowed()?,
    };
    let duration = match args.wakeups {
        Some(wakeups) => Nanos(args.period.get().saturating_mul(wakeups)),
        None if args.quick => Nanos::from_millis(2_000),
        None => args.duration,
    };
    let runtime = args.runtime.unwrap_or(Nanos(args.period.get() / 10));
    let scheduling = |policy: &Policy| match policy {
        Policy::Other => Scheduling::Other,
        Policy::Fifo => Scheduling::Fifo(priority),
        Policy::Rr => Scheduling::RoundRobin(priority),
        Policy::Deadline => Scheduling::Deadline { runtime, deadline: args.deadline },
    };
    Ok(Options {
        schedulings: args.sched.iter().map(scheduling).collect(),
        threads: args.threads.unwrap_or(cpus.len()),
        period: args.period,
        distance: args.distance,
        priority_step: args.priority_step.unwrap_or(0),
        moments: match args.moments {
            When::Staggered => Moments::Staggered,
            When::Together => Moments::Together,
        },
        break_above: args.break_above,
        cause: args.trace,
        trace_file: args.trace_file.clone(),
        dma_latency: args.dma_latency,
        force: args.force,
        ..Options::usual(cpus, duration)
    })
}

fn settings(options: &Options) -> Settings {
    let policy = |scheduling: &Scheduling| scheduling.policy(options.period).to_string();
    let policies: Vec<String> = options.schedulings.iter().map(policy).collect();
    Settings::default()
        .with("cpus", options.cpus.to_string())
        .with("threads", options.threads)
        .with("policy", policies)
        .with("priority_step", options.priority_step)
        .with("period", options.period.get())
        .with("distance", options.distance.get())
        .with("together", options.moments == Moments::Together)
        .with("for", options.duration.get())
        .with("break_above", options.break_above.map(Nanos::get))
        .with("trace", options.cause)
        .with("dma_latency", options.dma_latency.map(Nanos::get))
        .with("force", options.force)
}
