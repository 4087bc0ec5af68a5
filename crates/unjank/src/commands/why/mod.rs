//! `unjank why`: where a launch loses its time, and what would give it back.

mod clocks;
mod launches;

use std::ffi::OsString;
use std::process::ExitCode;

use anyhow::Result;
use unjank_host::process::is_root;
use unjank_host::tracefs::Tracefs;
use unjank_host::{Error, Nanos, Root, Support};
use unjank_launch::bench::Ready;
use unjank_measure::{Findings, Monitor};
use unjank_why::report;

use super::measured::{self, OutputArgs, Settings};
use crate::values;

/// Arguments of `unjank why`.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  sudo unjank why -- git status
  sudo unjank why -n 5 --ready window --html why.html -- xterm
  sudo unjank why --ready port:8080 -- ./server

From exec until the program is ready, every nanosecond gets one cause. The path
goes backwards from the end: while the program's first thread slept, it follows
the thread or interrupt that woke it, and so on. The rows of the split say how the path
first left that thread (a lock, a message, a child process, a thread of the
kernel), the columns what happened meanwhile. What a change would save is
computed by replaying all recorded wake-ups with shorter waits.")]
pub(crate) struct Args {
    /// When a launch is over: exit, stdout:REGEX, notify, port:N or window
    #[arg(long, value_name = "WAY", default_value = "exit")]
    ready: Ready,
    /// Launches; the one of median length is shown
    #[arg(long = "count", short = 'n', value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=100))]
    launches: u32,
    /// Idle time before each launch but the first
    #[arg(long, value_name = "TIME", default_value = "500ms", value_parser = values::duration_or_zero)]
    gap: Nanos,
    /// Longest time of a launch
    #[arg(long, value_name = "TIME", default_value = "60s", value_parser = values::duration)]
    timeout: Nanos,
    #[command(flatten)]
    output: OutputArgs,
    /// The program and its arguments
    #[arg(required = true, last = true, value_name = "COMMAND")]
    command: Vec<OsString>,
}

/// Records, explains and prints.
pub(crate) fn run(args: &Args) -> Result<ExitCode> {
    let words: Vec<String> = args.command.iter().map(|word| word.display().to_string()).collect();
    let settings = Settings::default()
        .with("command", words)
        .with("ready", args.ready.to_string())
        .with("launches", args.launches)
        .with("gap", args.gap.get())
        .with("timeout", args.timeout.get());
    let command = measured::Command { name: "why", output: &args.output, settings };
    command.run(|root, _, monitor| explain(args, root, monitor))
}

fn explain(args: &Args, root: &Root, monitor: &dyn Monitor) -> Result<Findings> {
    let launches = launches::record(args, root, &open_tracefs(root)?, monitor)?;
    Ok(report::findings(&launches))
}

fn open_tracefs(root: &Root) -> Result<Tracefs> {
    match Tracefs::open(root) {
        Support::Yes(tracefs) => Ok(tracefs),
        Support::No(_) if !is_root() => {
            let what = "recording what all threads do".to_owned();
            Err(Error::Permission { what, needs: "root".to_owned() }.into())
        }
        Support::No(reason) => Err(Error::Unsupported(reason).into()),
    }
}
