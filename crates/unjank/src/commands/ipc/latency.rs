//! `unjank ipc latency`: calls at real-time and at ordinary priority.

use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::Result;
use unjank_host::Nanos;
use unjank_host::files::Destination;
use unjank_host::sched::Priority;
use unjank_ipc::explain;
use unjank_ipc::latency::{self, Caller, Options};

use super::transport_name::TransportName;
use super::{caller, peer};
use crate::commands::measured::{self, Outcome, OutputArgs, Settings};
use crate::values;

/// Arguments of `unjank ipc latency`.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  sudo unjank ipc latency
  sudo unjank ipc latency --transport binder,hwbinder --count 5000 --clients 3
  sudo unjank ipc latency --transport binder --no-inherit-rt
  sudo unjank ipc latency --transport unix,pi --deadline 500us --trace
  unjank ipc latency --transport pipe --caller cold --json | jq '.verdicts'

Each pair is a client and a server process. In each iteration every caller of
the client calls once as SCHED_FIFO and once as SCHED_OTHER; the server reports
the CPU on which it served the call. Further calls, which do not count, check
whether the server runs at the client's priority. From 400 calls on, they are
divided into independent starts, each with new processes.")]
#[expect(clippy::struct_excessive_bools, reason = "flags of the command line")]
pub(crate) struct Args {
    /// Transports, measured in alternation
    #[arg(
        long,
        value_enum,
        value_delimiter = ',',
        value_name = "TRANSPORT,…",
        default_value = "unix,pi,binder,hwbinder"
    )]
    transport: Vec<TransportName>,
    /// Calls of each caller at each policy
    #[arg(long = "count", short = 'n', value_name = "N", default_value_t = 5_000)]
    iterations: u64,
    /// 500 calls of each caller at each policy: wider intervals
    #[arg(long, conflicts_with = "iterations")]
    quick: bool,
    /// Pairs of processes that call at the same time; at most as many as CPUs
    #[arg(long = "clients", value_name = "N", default_value_t = 1)]
    pairs: usize,
    /// A call that takes longer misses its deadline
    #[arg(long, value_name = "TIME", default_value = "2500us", value_parser = values::duration)]
    deadline: Nanos,
    /// Kinds of calling threads
    #[arg(
        long,
        value_enum,
        value_delimiter = ',',
        value_name = "CALLER,…",
        default_value = "warm,cold"
    )]
    caller: Vec<CallerName>,
    /// Priority of the SCHED_FIFO calls (above 90 only with --force)
    #[arg(long, value_name = "1-99", default_value = "80", value_parser = values::priority)]
    priority: Priority,
    /// Do not ask for inheritance of real-time priority (binder's node flag)
    #[arg(long)]
    no_inherit_rt: bool,
    /// Trace the scheduler, stop at the first missed deadline, and say which thread had the CPU
    /// (needs root)
    #[arg(long)]
    trace: bool,
    /// Where --trace keeps the trace
    #[arg(long, value_name = "FILE", requires = "trace", default_value = "unjank-trace.txt")]
    trace_file: PathBuf,
    /// Print process, CPU, policy and priority of client and server threads
    #[arg(long)]
    verbose: bool,
    /// Allow priorities above 90, and machines without real-time throttling
    #[arg(long)]
    force: bool,
    #[command(flatten)]
    output: OutputArgs,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
enum CallerName {
    /// A thread that has called before
    Warm,
    /// A new thread for each call
    Cold,
}

impl From<CallerName> for Caller {
    fn from(name: CallerName) -> Self {
        match name {
            CallerName::Warm => Self::Warm,
            CallerName::Cold => Self::Cold,
        }
    }
}

/// The command that shows where the time of a late call went.
const NEXT: &str = "sudo unjank ipc latency --trace";

pub(crate) fn run(args: &Args) -> Result<ExitCode> {
    let iterations = if args.quick { 500 } else { args.iterations };
    let options = Options {
        transports: args.transport.iter().map(|&name| name.into()).collect(),
        pairs: args.pairs,
        iterations,
        starts: Options::usual_starts(iterations),
        deadline: args.deadline,
        callers: args.caller.iter().map(|&name| name.into()).collect(),
        priority: args.priority,
        force: args.force,
        inherit_rt: !args.no_inherit_rt,
        trace: args.trace.then(|| args.trace_file.clone()),
        raw: false,
    };
    if let Some(path) = &options.trace {
        // The kernel writes the names of threads as they are.
        Destination::open_binary(path)?;
    }
    let command = measured::Command {
        name: "ipc latency",
        output: &args.output,
        settings: settings(&options),
    };
    let own = [("--trace-file", options.trace.as_deref())];
    command.run_beside(&own, |root, _, monitor| {
        let (client, server) = (caller::command(), peer::command());
        let measurements = latency::run(&options, &client, &server, root, monitor)?;
        let mut findings = measurements.findings()?;
        findings.verdicts.push(explain::verdict(&findings, NEXT));
        if args.verbose {
            findings.tables.push(measurements.threads());
        }
        Ok(Outcome::from(findings).partly_failed(measurements.has_failures()))
    })
}

fn settings(options: &Options) -> Settings {
    let transports: Vec<_> = options.transports.iter().map(|transport| transport.name()).collect();
    let callers: Vec<_> = options.callers.iter().map(|caller| caller.name()).collect();
    Settings::default()
        .with("transport", transports)
        .with("clients", options.pairs)
        .with("count", options.iterations)
        .with("starts", options.starts)
        .with("deadline", options.deadline.get())
        .with("caller", callers)
        .with("priority", options.priority.get())
        .with("inherit_rt", options.inherit_rt)
        .with("trace", options.trace.is_some())
        .with("force", options.force)
}
