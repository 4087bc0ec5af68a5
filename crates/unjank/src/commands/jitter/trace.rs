//! `unjank jitter trace`: the wake-ups of all threads in a recording.

use std::process::ExitCode;

use anyhow::Result;
use unjank_host::Nanos;
use unjank_host::thread_pattern::ThreadPattern;
use unjank_jitter::trace::{self, Options};
use unjank_measure::Findings;

use crate::commands::measured::{self, OutputArgs, Settings};
use crate::commands::recording::{Opened, RecordingArgs};
use crate::values;

/// Arguments of `unjank jitter trace`.
#[derive(Debug, clap::Args)]
#[command(mut_arg("seed", |seed| seed.hide(true)), after_help = "Examples:
  unjank jitter trace phone.perfetto-trace
  unjank jitter trace phone.perfetto-trace --process com.example.app --late 2ms
  unjank jitter trace trace.dat --thread 'Render*' --since +2s --until +5s
  unjank jitter trace trace.dat --limit all --html wakeups.html

Shows, for each thread, the times from its wake-ups (sched_waking) to the switches
that run it. For the longest of them, it shows what had the CPU meanwhile: another
thread, an interrupt, or the CPU's way out of an idle state. It needs no root. A trace
of Perfetto needs the data source linux.ftrace with sched/sched_switch and
sched/sched_waking.")]
pub(crate) struct Args {
    #[command(flatten)]
    recording: RecordingArgs,
    /// Only threads whose names match: * stands for anything, ? for one character
    #[arg(long, value_name = "PATTERN", value_parser = values::thread_pattern)]
    thread: Option<ThreadPattern>,
    /// A thread that waits longer for a CPU is late
    #[arg(long, value_name = "TIME", default_value = "5ms", value_parser = values::duration)]
    late: Nanos,
    /// Rows of the table of threads, or all
    #[arg(long, value_name = "N", default_value = "20", value_parser = values::rows)]
    limit: usize,
    #[command(flatten)]
    output: OutputArgs,
}

pub(crate) fn run(args: &Args) -> Result<ExitCode> {
    let settings = args.recording.add_to(Settings::of_recording());
    let settings = settings
        .with("thread", args.thread.as_ref().map(ToString::to_string))
        .with("late", args.late.get());
    let command = measured::Command { name: "jitter trace", output: &args.output, settings };
    command.run(|_, _, _| find(args))
}

fn find(args: &Args) -> Result<Findings> {
    let options = |opened: &Opened| Options {
        thread: args.thread.clone(),
        only: opened.only.clone(),
        window: opened.window,
        late: args.late,
        limit: args.limit,
        why: opened.why.clone(),
    };
    args.recording.search(|opened| {
        trace::run(&opened.recorded.trace, &opened.roster, &options(opened), &opened.stop)
    })
}
