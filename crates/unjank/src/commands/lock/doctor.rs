//! `unjank lock doctor`: finds the threads of a running program that waste time
//! in waiting.

use std::process::ExitCode;

use anyhow::Result;
use unjank_host::Nanos;
use unjank_lock::doctor::{self, Options};

use crate::commands::measured::{self, OutputArgs, Settings};
use crate::values;

/// Arguments of `unjank lock doctor`.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  sudo unjank lock doctor 4711
  sudo unjank lock doctor $(pidof java) --for 20s --html java.html
  sudo unjank lock doctor $(head -n 1 /var/lib/postgresql/15/main/postmaster.pid)
  unjank lock doctor 4711 --quick --json | jq '.tables[1].rows[]'

Watches all threads of a process and of the processes that it has started, new ones
included. For each thread, the worst first, it prints a diagnosis with a remedy: sleep
loop, yield storm, busy wait, empty polls, contended lock, taking turns, useless wake-ups.
The answer is yes only if a contended lock would have been seen.

As root it traces system calls in windows of 25 ms every 125 ms, in a trace instance of
its own, which it removes afterwards. Other tracing is not touched. Any user may watch
their own programs; without system calls there are fewer diagnoses, and the
output says so.")]
pub(crate) struct Args {
    /// Number of the process to watch
    #[arg(value_name = "PID")]
    process: u32,
    /// How long to watch
    #[arg(long = "for", value_name = "TIME", default_value = "5s", value_parser = values::duration)]
    duration: Nanos,
    /// Also watch the processes that it has started (the default)
    #[arg(long, overrides_with = "no_tree")]
    tree: bool,
    /// Watch this process alone
    #[arg(long, overrides_with = "tree")]
    no_tree: bool,
    /// Watch for one second
    #[arg(long, conflicts_with = "duration")]
    quick: bool,
    /// How many threads to show, the worst first
    #[arg(long, value_name = "N", default_value = "20", value_parser = values::rows)]
    limit: usize,
    #[command(flatten)]
    output: OutputArgs,
}

pub(crate) fn run(args: &Args) -> Result<ExitCode> {
    let duration = if args.quick { Nanos::from_millis(1_000) } else { args.duration };
    let tree = args.tree || !args.no_tree;
    let options = Options { process: args.process, tree, duration, top: args.limit };
    let settings = Settings::default()
        .with("process", options.process)
        .with("tree", options.tree)
        .with("for", options.duration.get())
        .with("limit", options.top);
    let command = measured::Command { name: "lock doctor", output: &args.output, settings };
    command.run(|root, seed, monitor| Ok(doctor::run(&options, root, seed, monitor)?.findings))
}
