//! `unjank ipc trace`: calls over binder in a recording.

use std::process::ExitCode;

use anyhow::Result;
use unjank_host::Nanos;
use unjank_ipc::trace::{self, Options};
use unjank_measure::Findings;

use crate::commands::measured::{self, OutputArgs, Settings};
use crate::commands::recording::{Opened, RecordingArgs};
use crate::values;

/// Arguments of `unjank ipc trace`.
#[derive(Debug, clap::Args)]
#[command(mut_arg("seed", |seed| seed.hide(true)), after_help = "Examples:
  unjank ipc trace phone.perfetto-trace
  unjank ipc trace phone.perfetto-trace --process com.example.app --deadline 8ms
  unjank ipc trace trace.dat --since +2s --until +5s --html calls.html

For each pair of client and server, the time of their calls over binder from the
call to the reply, divided into the way to the server, the server's work, and the
way back, with the time that the woken thread waited for a CPU. It needs no root. A
trace of Perfetto needs the category binder_driver, and sched for the waits.")]
pub(crate) struct Args {
    #[command(flatten)]
    recording: RecordingArgs,
    /// Only calls from or to this process
    #[arg(long, value_name = "NAME|PID")]
    process: Option<String>,
    /// A call that takes longer misses its deadline
    #[arg(long, value_name = "TIME", default_value = "2500us", value_parser = values::duration)]
    deadline: Nanos,
    /// Pairs of processes in a table, or all
    #[arg(long, value_name = "N", default_value = "10", value_parser = values::rows)]
    limit: usize,
    #[command(flatten)]
    output: OutputArgs,
}

pub(crate) fn run(args: &Args) -> Result<ExitCode> {
    let settings = args.recording.add_to(Settings::default());
    let settings =
        settings.with("process", args.process.clone()).with("deadline", args.deadline.get());
    let command = measured::Command { name: "ipc trace", output: &args.output, settings };
    command.run(|_, _, _| find(args))
}

fn find(args: &Args) -> Result<Findings> {
    let Opened { recorded, roster, window, stop } = args.recording.open()?;
    let only = args.process.as_ref().map(|process| roster.of_process(process)).transpose();
    let options = Options {
        only: only.map_err(|what| args.recording.lacks(what))?,
        window,
        deadline: args.deadline,
        limit: args.limit,
        why: args.recording.why(),
    };
    let found = trace::run(&recorded.trace, &roster, &options, &stop);
    let mut findings = found.map_err(|why| args.recording.without(why))?;
    recorded.notes.into_iter().for_each(|note| findings.warn(note));
    Ok(findings)
}
