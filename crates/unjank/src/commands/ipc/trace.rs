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

Shows, for each pair of client and server, the time of their calls over binder from
the call to the reply, divided into the way to the server, the server's work, and the
way back, with the time that the woken thread waited for a CPU. It needs no root. A
trace of Perfetto needs the category binder_driver, and sched for the waits.")]
pub(crate) struct Args {
    #[command(flatten)]
    recording: RecordingArgs,
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
    let settings = args.recording.add_to(Settings::of_recording());
    let settings = settings.with("deadline", args.deadline.get());
    let command = measured::Command { name: "ipc trace", output: &args.output, settings };
    command.run(|_, _, _| find(args))
}

fn find(args: &Args) -> Result<Findings> {
    let options = |opened: &Opened| Options {
        only: opened.only.clone(),
        window: opened.window,
        deadline: args.deadline,
        limit: args.limit,
        why: opened.why.clone(),
    };
    args.recording.search(|opened| {
        trace::run(&opened.recorded.trace, &opened.roster, &options(opened), &opened.stop)
    })
}
