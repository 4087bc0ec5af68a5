//! Explains a recording in a file.

use std::env::consts::ARCH;
use std::io;
use std::path::{Path, PathBuf};

use anyhow::Result;
use unjank_host::input::{Input, Stopped};
use unjank_host::sched::ThreadId;
use unjank_host::tracefs::trace_file::{self, Annex, MOST_BYTES, Recorded};
use unjank_host::tracefs::{EventKind, Trace};
use unjank_host::{Bytes, Error, Support, Timestamp};
use unjank_measure::Findings;
use unjank_why::choose::{self, ChoiceOptions, Chosen, Moment, choose};
use unjank_why::history::History;
use unjank_why::report::{self, Clocks, Explained, Launches};

use super::about::of_output;
use crate::commands::measured::{OutputArgs, Settings};
use crate::interrupt;
use crate::values;

/// What of a recording is explained.
#[derive(Debug, clap::Args)]
pub(super) struct FileArgs {
    /// A recording instead of a launch: trace-cmd's trace.dat, or ftrace's text with flags
    #[arg(value_name = "FILE")]
    pub(super) file: Option<PathBuf>,
    /// The process in the recording
    #[arg(
        long,
        value_name = "NAME|PID",
        requires = "file",
        conflicts_with_all = ["command", "pid"],
        help_heading = "Recordings"
    )]
    process: Option<String>,
    /// Beginning of the window: seconds of the trace, or +TIME after its first event [default: the
    /// exec of the process]
    #[arg(long, value_name = "TIME", requires = "file", conflicts_with_all = ["command", "pid"], help_heading = "Recordings", value_parser = moment)]
    since: Option<Moment>,
    /// End of the window [default: the end of the thread]
    #[arg(long, value_name = "TIME", requires = "file", conflicts_with_all = ["command", "pid"], help_heading = "Recordings", value_parser = moment)]
    until: Option<Moment>,
}

/// The settings of a run that explains a recording.
pub(super) fn settings(args: &FileArgs, file: &Path, thread: Option<&str>) -> Settings {
    let word = |word: &Option<String>| word.clone().unwrap_or_default();
    Settings::default()
        .with("file", file.display().to_string())
        .with("process", word(&args.process))
        .with("thread", thread.unwrap_or_default())
}

/// Explains a recording.
pub(super) fn explain(
    args: &FileArgs,
    file: &Path,
    thread: Option<&str>,
    output: &OutputArgs,
) -> Result<(Launches, Findings)> {
    let mut recorded = read(file)?;
    let mut notes = std::mem::take(&mut recorded.notes);
    notes.extend(drop_foreign_calls(&mut recorded));
    let annex = recorded.annex.take();
    if let Some(annex) = &annex {
        recorded.trace.kernel_threads =
            annex.kernel_threads.iter().copied().map(ThreadId).collect();
    }
    let (stop, stopped) = (interrupt::stop(), || failed(file, io::Error::other(Stopped)));
    let chosen = choose(&recorded.trace, &wanted(args, thread), annex.as_ref().map(own), &stop)
        .map_err(|what| {
            let invalid = || Error::Invalid(format!("{}: {what}", file.display()));
            if stop.is_requested() { stopped() } else { invalid() }
        })?;
    let Chosen { thread, first, from: (from, _), to: (to, _) } = chosen;
    let clocks = clocks_of(annex.as_ref(), &recorded.trace);
    if annex.is_none() && !clocks.highest.is_empty() {
        notes.push(
            "the highest clock of a CPU is taken to be the highest one that the recording has"
                .to_owned(),
        );
    }
    let Annex { functions, swap, files, .. } = annex.unwrap_or_default();
    let (trace, window) = (recorded.trace, (from, to));
    let history = History::until(&trace, &stop).ok_or_else(stopped)?;
    let threads = (first, thread);
    let launch = Explained::of_program(trace, history, threads, window, clocks, &stop);
    let mut launch = launch.map_err(|_| stopped())?;
    launch.know_swap(swap);
    launch.name_functions(functions);
    launch.name_files(files.into_iter().collect());
    launch.add_stacks(Support::no("recordings in files hold no stacks"));
    let table = report::window_table(&launch, &chosen);
    let about = of_output(output);
    let launches = Launches::new(Bytes::default(), &about).until(stop.clone()).with(launch);
    if launches.typical().is_none() {
        return Err(stopped().into());
    }
    let findings = report::findings_until(&launches, &about, &stop);
    let mut findings = findings.ok_or_else(stopped)?;
    findings.tables.insert(0, table);
    for note in notes {
        findings.warn(note);
    }
    Ok((launches, findings))
}

/// The clocks of the machine that recorded.
fn clocks_of(annex: Option<&Annex>, trace: &Trace) -> Clocks {
    let Some(annex) = annex else { return Clocks::seen_in(trace) };
    let missing = "the machine that recorded reported no clock frequencies";
    Clocks {
        highest: annex.highest_khz.clone(),
        at_start: annex.start_khz.clone(),
        missing: Some(missing.to_owned()),
    }
}

fn read(file: &Path) -> Result<Recorded> {
    let failed = |why| failed(file, why);
    let stop = interrupt::stop();
    let input = Input::named(file, &stop).map_err(failed)?;
    let bytes = input.bytes(MOST_BYTES).map_err(failed)?;
    let recorded = trace_file::read_until(&bytes, &stop).map_err(|fault| {
        failed(if fault.is_stop() {
            io::Error::other(Stopped)
        } else {
            io::Error::new(io::ErrorKind::InvalidData, fault)
        })
    })?;
    Ok(recorded)
}

fn failed(file: &Path, why: io::Error) -> Error {
    Error::file("read", file, why).of_named_file()
}

/// Removes system calls whose numbers mean something else here.
fn drop_foreign_calls(recorded: &mut Recorded) -> Option<String> {
    let architecture = recorded.architecture.as_ref().filter(|name| !is_of(name, ARCH))?;
    let is_call = |kind: &EventKind| matches!(kind, EventKind::SystemCall(_));
    let mut dropped = 0;
    for cpu in &mut recorded.trace.cpus {
        let before = cpu.events.len();
        cpu.events.retain(|event| !is_call(&event.kind));
        dropped += before - cpu.events.len();
    }
    (dropped > 0).then(|| {
        format!(
            "system calls were recorded on {architecture} and are not known here: waits for \
             locks, messages and children are those for another thread"
        )
    })
}

/// Whether a name that `uname -m` prints is that of an architecture.
fn is_of(name: &str, architecture: &str) -> bool {
    match architecture {
        "arm" => name.starts_with("armv"),
        "x86" => matches!(name.as_bytes(), [b'i', b'3'..=b'6', b'8', b'6']),
        _ => name == architecture,
    }
}

fn wanted(args: &FileArgs, thread: Option<&str>) -> ChoiceOptions {
    ChoiceOptions {
        process: args.process.clone(),
        thread: thread.map(str::to_owned),
        from: args.since,
        to: args.until,
    }
}

fn own(annex: &Annex) -> choose::OwnRecording {
    let [from, to] = annex.window.map(Timestamp::from_nanos);
    let thread = ThreadId(annex.thread);
    let first = if annex.first == 0 { thread } else { ThreadId(annex.first) };
    choose::OwnRecording { thread, first, window: (from, to) }
}

/// Parses `38735.806062`, the time of an event, or `+250ms`.
fn moment(text: &str) -> Result<Moment, String> {
    if let Some(after) = text.strip_prefix('+') {
        return values::duration_or_zero(after).map(Moment::After);
    }
    let wrong = "a moment looks like 38735.806062 (seconds of the trace) or +250ms";
    let (seconds, fraction) = text.split_once('.').unwrap_or((text, ""));
    let digits = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
    if seconds.is_empty() || !digits(seconds) || !digits(fraction) || fraction.len() > 9 {
        return Err(wrong.to_owned());
    }
    let nanos = format!("{seconds}{fraction:0<9}").parse().map_err(|_| wrong.to_owned())?;
    Ok(Moment::At(Timestamp::from_nanos(nanos)))
}

#[cfg(test)]
mod tests {
    use unjank_host::Nanos;

    use super::*;

    #[test]
    fn the_kernel_has_other_names_of_architectures() {
        for (name, architecture) in
            [("x86_64", "x86_64"), ("aarch64", "aarch64"), ("armv7l", "arm"), ("i686", "x86")]
        {
            assert!(is_of(name, architecture), "{name}");
            assert!(!is_of(name, "riscv64"), "{name}");
        }
        assert!(!is_of("x86_64", "x86") && !is_of("aarch64", "arm"));
    }

    #[test]
    fn a_moment_is_a_time_of_the_trace_or_after_its_begin() {
        let at = |nanos| Ok(Moment::At(Timestamp::from_nanos(nanos)));
        assert_eq!(moment("38735.806062"), at(38_735_806_062_000));
        assert_eq!(moment("1.000000001"), at(1_000_000_001));
        assert_eq!(moment("7"), at(7_000_000_000));
        assert_eq!(moment("+250ms"), Ok(Moment::After(Nanos::from_millis(250))));
        assert_eq!(moment("+0"), Ok(Moment::After(Nanos::ZERO)));
        for wrong in ["", ".5", "soon", "-1", "1.0000000001", "99999999999999", "+", "1.5s"] {
            assert!(moment(wrong).is_err(), "{wrong}");
        }
    }
}
