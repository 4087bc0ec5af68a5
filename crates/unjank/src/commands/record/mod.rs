//! `unjank record`: what all threads of this machine do, as a trace of Perfetto.

mod end;
mod file;

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::{ExitCode, Stdio};

use anyhow::Result;
use unjank_host::files::{Destination, is_stdout};
use unjank_host::tracefs::Lost;
use unjank_host::{Bytes, Nanos, Root, Timestamp};
use unjank_measure::number::grouped;
use unjank_why::live::{
    WholeMachine, WholeMachineOptions, WholeMachineProgress, WholeMachineRecorded,
};

use crate::commands::why::open_tracefs;
use crate::{output, values};
use end::End;
use file::TraceFile;

/// Arguments of `unjank record`.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  sudo unjank record trace.pftrace                    # until Ctrl-C
  sudo unjank record --for 10s trace.pftrace.gz       # compressed
  sudo unjank record app.pftrace -- ./app --level 3   # until the program ends
  unjank why trace.pftrace --process NAME             # explain a program in it
  sudo unjank record --for 5s - | ssh desk 'cat > trace.pftrace'

The trace has what all threads of the machine do: which thread has which CPU, who
wakes whom, interrupts, timers, work items, block requests, packets over loopback,
binder transactions, clocks and idle states. Open it at https://ui.perfetto.dev, with
trace_processor, or with unjank why. The trace is written during the recording, so a
recording may take minutes. Of the command line of a program, the trace has only the
first word, not the arguments.

With a command, the recording ends with it, and the exit code is the command's, 128 +
N if signal N ended it. unjank's own: 1 the trace cannot be written, 2 usage, 3 the
kernel cannot record, 4 not permitted, 130 Ctrl-C before the time of --for was over;
the trace is complete up to that moment. docs/reference/record.md has the details.")]
pub(crate) struct Args {
    /// The trace to write, compressed if its name ends in .gz; - is stdout
    #[arg(value_name = "FILE")]
    file: PathBuf,
    /// How long to record [default: until the command ends, or until Ctrl-C]
    #[arg(long = "for", value_name = "TIME", value_parser = values::duration)]
    length: Option<Nanos>,
    /// Also record system calls and page faults of all threads; this adds many events
    #[arg(long)]
    calls: bool,
    /// Memory of the kernel's buffers [default: 16MiB for each CPU]
    #[arg(long, value_name = "SIZE", value_parser = values::bytes)]
    buffers: Option<Bytes>,
    /// End when the trace has this size, before compression
    #[arg(long, value_name = "SIZE", default_value = "1GiB", value_parser = values::bytes)]
    max_size: Bytes,
    /// The command, and its arguments
    #[arg(last = true, value_name = "COMMAND")]
    command: Vec<OsString>,
}

/// Records, then prints the number of events and the size.
pub(crate) fn run(args: &Args) -> Result<ExitCode> {
    let place = Destination::open_binary(&args.file)?;
    let root = Root::system();
    let tracefs = open_tracefs(&root)?;
    let mut end = End::listen(args.length, !args.command.is_empty())?;
    let out = TraceFile::begin(place)?;
    let options = WholeMachineOptions { buffers: args.buffers, calls: args.calls };
    let recording = WholeMachine::start(&tracefs, &root, options, out, args.file.clone())?;
    if !args.command.is_empty() {
        // The trace has stdout for itself.
        let stdout =
            if is_stdout(&args.file) { std::io::stderr().into() } else { Stdio::inherit() };
        end.start(&args.command, stdout)?;
    }
    let written = record(recording, &mut end, args.max_size);
    end.clear();
    finish(written?, args, end.is_full())?;
    Ok(end.code()?.into())
}

/// Records until the end.
fn record(
    mut recording: WholeMachine<TraceFile>,
    end: &mut End,
    largest: Bytes,
) -> unjank_host::Result<WholeMachineRecorded<TraceFile>> {
    loop {
        let now = Timestamp::now();
        let goes_on = recording.write(|WholeMachineProgress { events, size, length }| {
            let said = format!("{} events, {size}", grouped(events));
            !end.has_come(length, size >= largest, &said)
        })?;
        if !goes_on {
            return recording.finish();
        }
        end.sleep_until(now + WholeMachine::<TraceFile>::PERIOD, recording.length());
    }
}

/// Completes the file, and prints its size, and warnings.
fn finish(recorded: WholeMachineRecorded<TraceFile>, args: &Args, is_full: bool) -> Result<()> {
    let WholeMachineRecorded { out, events, size, lost, length } = recorded;
    out.finish()?;
    output::remark(&format!("recorded {length}: {} events, {size}", grouped(events)));
    if !is_stdout(&args.file) {
        output::remark_lines(&next(&args.file));
    }
    let Lost { overwritten, dropped } = lost;
    if overwritten.max(dropped) > 0 {
        output::remark(&format!(
            "warning: the kernel lost {} events, because its buffers were full; larger ones \
             (--buffers) keep more",
            grouped(overwritten.saturating_add(dropped))
        ));
    }
    if is_full {
        output::remark(&format!(
            "warning: the trace had its largest size after {length} (--max-size {}); what came \
             later is missing",
            args.max_size
        ));
    }
    Ok(())
}

/// What can be done with the trace.
fn next(file: &Path) -> String {
    let file = file.to_string_lossy();
    // No path has a zero.
    let file = shlex::try_quote(&file).unwrap_or_default();
    format!("→ unjank why {file} --process NAME\n→ or open it at https://ui.perfetto.dev")
}
