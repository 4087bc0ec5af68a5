//! `unjank why`: where a launch loses its time, and what would give it back.

pub(crate) mod about;
mod calibration;
mod clocks;
mod cost;
mod export;
mod file;
mod files;
mod handoff;
mod kernel;
pub(crate) mod launch;
pub(crate) mod launches;
mod prove;
mod unrecorded;
mod window;

use std::ffi::OsString;
use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::Result;
use unjank_host::files::Destination;
use unjank_host::process::is_root;
use unjank_host::process::pid_namespace::why_foreign;
use unjank_host::tracefs::Tracefs;
use unjank_host::{Bytes, Error, Nanos, Root, Support};
use unjank_launch::bench::{Program, Ready};
use unjank_measure::{Findings, Monitor};
use unjank_why::report::{self, About, Launches};

use super::measured::{self, OutputArgs, Settings};
use crate::values;
use about::about;
use export::{ExportArgs, Exports};
use file::FileArgs;
use launch::Plan;
use prove::{Experiment, Wanted};
use window::WindowArgs;

/// Arguments of `unjank why`.
#[derive(Debug, clap::Args)]
#[command(
    override_usage = "unjank why [OPTIONS] <-- COMMAND... | --pid PID | FILE | --calibration>"
)]
#[command(group = clap::ArgGroup::new("subject").required(true).args(["file", "pid", "command", "calibration"]))]
#[command(after_help = "Examples:
  sudo unjank why -- git status
  sudo unjank why -n 5 --ready window --html why.html -- xterm
  sudo unjank why --ready port:8080 -- ./server
  sudo unjank why --pid 4711 --thread render --for 10s
  sudo unjank why --perfetto git.pftrace -- git status
  sudo unjank why --trace-file launch.dat -- ./app    # keep the recording
  unjank why launch.dat                               # explain it again
  unjank why trace.dat --process app                  # a recording of trace-cmd
  sudo unjank why --prove -- make -C project          # try the change that saves most
  sudo unjank why --prove=cache -- ./app              # cold files against files in memory
  unjank why --calibration                            # how good the predictions were
  sudo unjank why -n 20 --cost -- git status

From exec until the program is ready, every nanosecond gets one cause. The path
goes backwards from the thread that made it ready: while that slept, it follows
the thread or interrupt that woke it, and so on. The rows of the split say how the path
first left that thread (a lock, a message, a child, a thread of the
kernel), the columns what happened meanwhile. What a change would save is
computed by replaying all recorded wake-ups with shorter waits. --prove applies
one change and measures what it saves:

  cpu      the program starts with nice value -20 (autogroups are off meanwhile)
  cache    its files are in memory; without it, they are dropped from memory
  clock    every CPU at its highest clock

Without root nothing is recorded; it says what the program used, and what is n/a.")]
pub(crate) struct Args {
    /// When a launch is over: exit, stdout:REGEX, notify, port:N or window
    #[arg(long, value_name = "WAY", default_value = "exit", conflicts_with = "file")]
    ready: Ready,
    /// Launches; the one of median length is shown [default: 1; with --prove 6]
    #[arg(long = "count", short = 'n', value_name = "N", conflicts_with = "file", value_parser = clap::value_parser!(u32).range(1..=100))]
    launches: Option<u32>,
    /// Measure what a change saves, in alternating pairs of launches, and compare it
    /// with the prediction: cpu, cache, clock, or the best of them
    #[arg(
        long,
        value_name = "CHANGE",
        num_args = 0..=1,
        require_equals = true,
        default_missing_value = "best",
        conflicts_with_all = ["file", "pid", "cost", "calibration", "trace_file"]
    )]
    prove: Option<Wanted>,
    /// With --prove: pairs of launches with and without the change
    #[arg(long, value_name = "N", default_value_t = 10, requires = "prove", value_parser = clap::value_parser!(u32).range(1..=1000))]
    pairs: u32,
    /// Show how good the predictions of stored runs with --prove were
    #[arg(long, conflicts_with_all = ["file", "pid", "command", "cost"])]
    calibration: bool,
    /// Idle time before each launch but the first
    #[arg(long, value_name = "TIME", default_value = "500ms", conflicts_with = "file", value_parser = values::duration_or_zero)]
    gap: Nanos,
    /// Longest time of a launch
    #[arg(long, value_name = "TIME", default_value = "60s", conflicts_with = "file", value_parser = values::duration)]
    timeout: Nanos,
    /// Memory for recorded events, in the kernel's form; when it is full, the
    /// recording ends
    #[arg(long, value_name = "SIZE", default_value = "256MiB", conflicts_with = "file", value_parser = values::bytes)]
    memory: Bytes,
    /// Do not record in which functions threads wait and compute
    #[arg(long, conflicts_with_all = ["file", "pid", "prove"])]
    no_stacks: bool,
    /// Measure what the recording costs: launches with and without it, in
    /// alternating pairs
    #[arg(long, conflicts_with = "file")]
    cost: bool,
    /// Keep the recording as a trace.dat, for trace-cmd and for unjank why FILE
    #[arg(long, value_name = "FILE", requires = "command", conflicts_with_all = ["file", "pid", "cost"])]
    trace_file: Option<PathBuf>,
    /// Of a running process or a recording: the thread to explain [default: the first]
    #[arg(long, value_name = "NAME|TID", conflicts_with = "command")]
    thread: Option<String>,
    #[command(flatten)]
    recording: FileArgs,
    /// The program and its arguments
    #[arg(last = true, value_name = "COMMAND")]
    command: Vec<OsString>,
    #[command(flatten)]
    window: WindowArgs,
    #[command(flatten)]
    export: ExportArgs,
    #[command(flatten)]
    output: OutputArgs,
}

/// Records, explains and prints.
pub(crate) fn run(args: &Args) -> Result<ExitCode> {
    if args.calibration {
        let output = OutputArgs { no_store: true, ..args.output.clone() };
        let settings = Settings::default().with("calibration", true);
        let command = measured::Command { name: "why", output: &output, settings };
        return command.run(|_, _, _| calibration::read(&args.output));
    }
    let settings = match &args.recording.file {
        Some(path) => file::settings(&args.recording, path, args.thread.as_deref()),
        None => settings(args),
    };
    let command = measured::Command { name: "why", output: &args.output, settings };
    let exports = Exports::open(&args.export)?;
    let mut exported = Ok(());
    let [perfetto, folded] = args.export.files();
    let own = [perfetto, folded, ("--trace-file", args.trace_file.as_deref())];
    let code = command.run_beside(&own, |root, seed, monitor| {
        let (launches, findings) = explain(args, root, seed, monitor)?;
        exported = launches.typical().map_or(Ok(()), |launch| exports.write(launch));
        Ok(findings)
    })?;
    exported.map(|()| ExitCode::from(code))
}

impl Args {
    /// Whether files are named that only a recording fills.
    fn writes_files(&self) -> bool {
        let [perfetto, folded] = self.export.files();
        [perfetto.1, folded.1, self.trace_file.as_deref()].iter().any(Option::is_some)
    }

    /// The number of recorded launches.
    fn launches(&self) -> u32 {
        self.launches.unwrap_or(if self.prove.is_some() { prove::RECORDED } else { 1 })
    }
}

/// The settings of a run that records.
fn settings(args: &Args) -> Settings {
    let words: Vec<String> = args.command.iter().map(|word| word.display().to_string()).collect();
    let settings = Settings::default()
        .with("command", words)
        .with("ready", args.ready.to_string())
        .with("launches", args.launches())
        .with("gap", args.gap.get())
        .with("timeout", args.timeout.get())
        .with("memory", args.memory.get());
    match args.window.pid {
        Some(pid) => settings
            .with("pid", pid)
            .with("thread", args.thread.clone())
            .with("for", args.window.duration.get()),
        None => match args.prove {
            Some(wanted) => settings.with("prove", wanted.name()).with("pairs", args.pairs),
            None => settings.with("cost", args.cost).with("stacks", !args.no_stacks),
        },
    }
}

/// What was explained, and what is said of it.
fn explain(
    args: &Args,
    root: &Root,
    seed: u64,
    monitor: &dyn Monitor,
) -> Result<(Launches, Findings)> {
    if let Some(path) = &args.recording.file {
        let thread = args.thread.as_deref();
        return file::explain(&args.recording, path, thread, !args.output.no_store);
    }
    let plan = Plan {
        program: Program::new(args.command.clone(), args.ready.clone()),
        launches: args.launches(),
        gap: args.gap,
        timeout: args.timeout,
        memory: args.memory,
        until: None,
        // Predictions do not need them.
        stacks: !args.no_stacks && args.prove.is_none(),
        is_cold: args.prove.is_some_and(Wanted::needs_cold_launches),
    };
    let keep = destination(args)?;
    let thread = args.thread.as_deref();
    let tracefs = match open_tracefs(root) {
        Ok(tracefs) => tracefs,
        Err(error) if args.cost || args.prove.is_some() || args.writes_files() => {
            return Err(error.into());
        }
        Err(error) if why_foreign(root).is_some() && is_root() => return Err(error.into()),
        Err(error) => {
            let reason = error.to_string();
            let findings = match args.window.pid {
                Some(pid) => {
                    unrecorded::window(&args.window, (pid, thread), root, &reason, monitor)?
                }
                None => unrecorded::launches(&plan, root, &reason, monitor)?,
            };
            return Ok((Launches::default(), findings));
        }
    };
    if args.cost {
        return Ok((Launches::default(), cost::measure(&plan, root, &tracefs, seed, monitor)?));
    }
    let about = About {
        handoff: handoff::stored(&args.output, root),
        ..about(&plan.program, args.window.pid, !args.output.no_store)
    };
    if let Some(wanted) = args.prove {
        let experiment = Experiment { wanted, pairs: args.pairs as usize, plan, about };
        return experiment.run(root, &tracefs, seed, monitor);
    }
    let launches = match args.window.pid {
        Some(pid) => {
            let (of, memory) = ((pid, thread), args.memory);
            let window = window::record(&args.window, memory, of, root, &tracefs, monitor)?;
            Launches::single(window, &about)
        }
        None => launches::record(&plan, &about, root, &tracefs, keep, monitor)?,
    };
    let findings = report::findings(&launches, &about);
    Ok((launches, findings))
}

/// The tracing files of this machine.
///
/// # Errors
/// `Permission` without root; `Unsupported` if the kernel has none, or if its
/// recordings have other numbers for threads than this process.
pub(crate) fn open_tracefs(root: &Root) -> unjank_host::Result<Tracefs> {
    if let Some(reason) = why_foreign(root) {
        return Err(cannot_record(reason));
    }
    match Tracefs::open(root) {
        Support::Yes(tracefs) => Ok(tracefs),
        Support::No(reason) => Err(cannot_record(reason)),
    }
}

/// The file that keeps the recording of the launch.
fn destination(args: &Args) -> Result<Option<Destination>> {
    if args.trace_file.is_some() && args.launches() > 1 {
        let what = "--trace-file keeps one launch; leave out --count".to_owned();
        return Err(Error::Invalid(what).into());
    }
    Ok(args.trace_file.as_deref().map(Destination::open_binary).transpose()?)
}

/// Why nothing can be recorded.
fn cannot_record(reason: String) -> Error {
    if is_root() {
        return Error::Unsupported(reason);
    }
    let what = "recording what all threads do".to_owned();
    Error::Permission { what, needs: "root".to_owned() }
}
