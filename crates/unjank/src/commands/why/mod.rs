//! `unjank why`: where a launch loses its time, and what would give it back.

pub(crate) mod about;
mod again;
mod args;
mod arms;
mod calibration;
mod export;
mod file;
mod handoff;
pub(crate) mod launch;
pub(crate) mod launches;
mod named;
mod prove;
mod window;

use std::path::Path;
use std::process::ExitCode;

use anyhow::Result;
use unjank_host::files::Destination;
use unjank_host::process::is_root;
use unjank_host::process::pid_namespace::why_foreign;
use unjank_host::tracefs::Tracefs;
use unjank_host::{Error, Root, Support};
use unjank_launch::bench::Program;
use unjank_measure::{Findings, Monitor};
use unjank_why::live::{Window, choose_thread};
use unjank_why::record::StacksOf;
use unjank_why::report::{self, Launches};
use unjank_why::unrecorded;

use super::measured::{self, Outcome, OutputArgs, Settings};
use crate::exit;
pub(crate) use args::Args;
use export::Exports;
use launch::Plan;
use prove::{Experiment, TriedChange};

/// Records, explains and prints.
pub(crate) fn run(args: &Args) -> Result<ExitCode> {
    if args.calibration {
        let output = OutputArgs { no_store: true, ..args.output.clone() };
        let settings = Settings::default().with("calibration", true);
        let command = measured::Command { name: "why", output: &output, settings };
        return command.run(|root, _, _| calibration::read(&args.output, root));
    }
    let recording = args.recording.path()?;
    let settings = match &recording {
        Some(path) => file::settings(&args.recording, path, args.thread.as_deref()),
        None => settings(args),
    };
    let command = measured::Command { name: "why", output: &args.output, settings };
    let exports = Exports::open(&args.export)?;
    let [perfetto, folded] = args.export.files();
    let own = [perfetto, folded, ("--trace-file", args.trace_file.as_deref())];
    command.run_beside(&own, |root, seed, monitor| {
        let (launches, findings) = explain(args, recording.as_deref(), root, seed, monitor)?;
        let exported = launches.typical().map_or(Ok(()), |launch| exports.write(launch));
        Ok(Outcome::from(findings).ending(exported.map(|()| exit::FINE)))
    })
}

/// The settings of a run that records.
fn settings(args: &Args) -> Settings {
    let words: Vec<String> = args.command.iter().map(|word| word.display().to_string()).collect();
    let settings = Settings::default()
        .with("command", words)
        .with("ready", args.ready.to_string())
        .with("count", args.launches())
        .with("gap", args.gap.get())
        .with("timeout", args.timeout.get())
        .with("max_memory", args.memory.get());
    match args.window.pid {
        Some(pid) => settings
            .with("pid", pid)
            .with("thread", args.thread.clone())
            .with("for", args.window.duration.get())
            .with("stacks", !args.no_stacks),
        None => match args.prove {
            Some(wanted) => settings
                .with("prove", wanted.name())
                .with("by", args.by.clone())
                .with("pairs", args.pairs),
            None => settings.with("cost", args.cost).with("stacks", !args.no_stacks),
        },
    }
}

/// What was explained, and what is said of it.
fn explain(
    args: &Args,
    recording: Option<&Path>,
    root: &Root,
    seed: u64,
    monitor: &dyn Monitor,
) -> Result<(Launches, Findings)> {
    if let Some(path) = recording {
        return file::explain(&args.recording, path, args.thread.as_deref(), &args.output);
    }
    if let Some(wanted) = args.prove {
        wanted.check(args.by.as_deref())?;
    }
    let plan = Plan {
        program: Program::new(args.command.clone(), args.ready.clone()),
        launches: args.launches(),
        gap: args.gap,
        timeout: args.timeout,
        explains_unended: false,
        memory: args.memory,
        until: None,
        end: None,
        // Predictions do not need them.
        stacks: !args.no_stacks && args.prove.is_none(),
        is_cold: args.prove.is_some_and(TriedChange::needs_cold_launches),
    };
    let keep = destination(args)?;
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
                    let thread = (pid, choose_thread(root, pid, args.thread.as_deref())?);
                    unrecorded::window(thread, args.window.duration, root, &reason, monitor)?
                }
                None => launches::count(&plan, root, &reason, monitor)?,
            };
            return Ok((Launches::default(), findings));
        }
    };
    if args.cost {
        return Ok((Launches::default(), launches::cost(&plan, root, &tracefs, seed, monitor)?));
    }
    let about = again::about(args, root);
    if let Some(wanted) = args.prove {
        let (by, pairs) = (args.by.clone(), args.pairs as usize);
        let experiment = Experiment { wanted, by, pairs, plan, about };
        return experiment.run(root, &tracefs, seed, monitor);
    }
    let plan = Plan { explains_unended: true, ..plan };
    let launches = match args.window.pid {
        Some(pid) => {
            let window = Window {
                process: pid,
                thread: args.thread.clone(),
                length: args.window.duration,
                memory: args.memory,
                stacks: if args.no_stacks { StacksOf::Nobody } else { StacksOf::Threads },
            };
            Launches::single(window::record(&window, root, &tracefs, monitor)?, &about)
        }
        None => launches::record(&plan, &about, root, &tracefs, keep, monitor)?,
    };
    let findings = report::findings(&launches, &about::with_server(&about, &launches, root));
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
