//! Explains a recording in a file.

use std::io;
use std::path::{Path, PathBuf};

use anyhow::Result;
use unjank_host::input::Stopped;
use unjank_host::sched::ThreadId;
use unjank_host::tracefs::trace_file::{Annex, NamedTimes, Recorded};
use unjank_host::tracefs::{Moment, Trace};
use unjank_host::{Bytes, Error, Support, Timestamp};
use unjank_measure::Findings;
use unjank_why::android::AppThread;
use unjank_why::choose::{self, ChoiceOptions, Chosen, choose};
use unjank_why::foreign_calls::{is_native, translate};
use unjank_why::history::History;
use unjank_why::report::{self, Clocks, Explained, Launches, Subject};

use super::about::of_output;
use super::named::NamedArgs;
use crate::commands::incidents::{KeptArgs, STORE};
use crate::commands::measured::{OutputArgs, Settings};
use crate::commands::recording::{failed, moment, read, read_kept};
use crate::interrupt;

/// The group `kept`, member by member: an error then names only the one that was typed.
pub(super) const KEPT: [&str; 3] = ["file", "last", "incident"];

/// What of a recording is explained.
#[derive(Debug, clap::Args)]
pub(super) struct FileArgs {
    /// A recording instead of a launch: trace-cmd's trace.dat, ftrace's text with flags, or a
    /// trace of Perfetto
    #[arg(value_name = "FILE")]
    pub(super) file: Option<PathBuf>,
    /// The process in the recording
    #[arg(
        long,
        value_name = "NAME|PID",
        requires = "kept",
        conflicts_with_all = ["command", "pid"],
        help_heading = "Recordings"
    )]
    process: Option<String>,
    /// Beginning of the window: seconds of the trace, or +TIME after its first event [default: the
    /// exec of the process]
    #[arg(long, value_name = "TIME", requires = "kept", conflicts_with_all = ["command", "pid"], help_heading = "Recordings", value_parser = moment)]
    since: Option<Moment>,
    /// End of the window [default: the end of the thread]
    #[arg(long, value_name = "TIME", requires = "kept", conflicts_with_all = ["command", "pid"], help_heading = "Recordings", value_parser = moment)]
    until: Option<Moment>,
    #[command(flatten)]
    pub(super) named: NamedArgs,
    /// The last incident of unjank watch
    #[arg(long, conflicts_with_all = ["command", "pid", "file"], help_heading = "Recordings")]
    last: bool,
    /// An incident of unjank watch: last~1 …, or the beginning of its id
    #[arg(long, value_name = "INCIDENT", conflicts_with_all = ["command", "pid", "file", "last"], help_heading = "Recordings")]
    incident: Option<String>,
    /// Store of the incidents
    #[arg(long, value_name = "FILE", default_value = STORE, help_heading = "Recordings")]
    incident_store: PathBuf,
}

impl FileArgs {
    /// The recording that is explained, if it is one: a named file, or that of an incident.
    ///
    /// # Errors
    /// There is no such incident.
    pub(super) fn path(&self) -> Result<Option<PathBuf>> {
        let name = match (&self.file, &self.incident, self.last) {
            (Some(file), ..) => return Ok(Some(file.clone())),
            (None, Some(name), _) => name.as_str(),
            (None, None, true) => "last",
            (None, None, false) => return Ok(None),
        };
        let kept = KeptArgs { store: self.incident_store.clone() }.open_existing()?;
        let record = kept.find(name)?;
        Ok(Some(kept.recording(&record.id)))
    }
}

/// The settings of a run that explains a recording.
pub(super) fn settings(args: &FileArgs, file: &Path, thread: Option<&str>) -> Settings {
    let word = |word: &Option<String>| word.clone().unwrap_or_default();
    let settings = Settings::of_recording()
        .with("file", file.display().to_string())
        .with("process", word(&args.process))
        .with("thread", thread.unwrap_or_default());
    args.named.add_to(settings)
}

/// Explains a recording.
pub(super) fn explain(
    args: &FileArgs,
    file: &Path,
    thread: Option<&str>,
    output: &OutputArgs,
) -> Result<(Launches, Findings)> {
    let by_name = args.process.is_some() || thread.is_some();
    let by_name = by_name || args.since.is_some() || args.until.is_some();
    let named = if by_name && !args.named.is_given() { NamedTimes::Skip } else { NamedTimes::Read };
    let is_kept = args.file.is_none();
    let mut recorded = if is_kept { read_kept(file, named)? } else { read(file, named)? };
    let mut notes = std::mem::take(&mut recorded.notes);
    notes.extend(translate_calls(&mut recorded));
    let annex = recorded.annex.take();
    let threads = annex.iter().flat_map(|annex| annex.kernel_threads.iter().copied());
    recorded.trace.kernel_threads.extend(threads.map(ThreadId));
    let stop = interrupt::stop();
    let stopped = || failed(file, io::Error::other(Stopped));
    let clocks = clocks_of(annex.as_ref(), &recorded.trace);
    if annex.is_none() && !clocks.highest.is_empty() {
        notes.push(
            "the highest clock of a CPU is taken to be the highest one that the recording has"
                .to_owned(),
        );
    }
    let invalid = |what: String| {
        let invalid = Error::Invalid(format!("{}: {what}", file.display()));
        if stop.is_requested() { stopped() } else { invalid }
    };
    let about = of_output(output);
    let mut history = History::until(&recorded.trace, &stop).ok_or_else(stopped)?;
    let of_threads = recorded.processes.of_threads.iter();
    history.began_with(&of_threads.map(|(&thread, &process)| (process, thread)).collect());
    let own = annex.as_ref().and_then(own);
    let names_time = by_name || own.is_some();
    let named = args.named.choose(&recorded, &history, names_time).map_err(invalid)?;
    let (mut launch, tables, about) = if let Some(named) = named {
        let (trace, stop) = (recorded.trace, &stop);
        named.explain(trace, history, clocks, &about, stop).map_err(|Stopped| stopped())?
    } else {
        let wanted = wanted(args, thread, &recorded);
        let chosen = choose(&recorded.trace, &wanted, own, &stop);
        let chosen = chosen.map_err(invalid)?;
        let Chosen { thread, first, from: (from, _), to: (to, _) } = chosen;
        let (trace, threads, window) = (recorded.trace, (first, thread), (from, to));
        let launch = Explained::of_program(trace, history, threads, window, clocks, &stop);
        let mut launch = launch.map_err(|_| stopped())?;
        if annex.as_ref().is_some_and(|annex| annex.is_window) {
            let window = AppThread { first, thread, to };
            launch = launch.again(Subject::Window, window, from, &stop).map_err(|_| stopped())?;
        }
        let table = report::window_table(&launch, &chosen);
        (launch, vec![table], about)
    };
    let Annex { functions, swap, files, throttled, window, .. } = annex.unwrap_or_default();
    if window == [launch.from, launch.to].map(Timestamp::as_nanos) {
        launch.know_throttled(throttled);
    }
    launch.know_swap(swap);
    launch.name_functions(functions);
    launch.name_files(files.into_iter().collect());
    launch.add_stacks(Support::no("recordings in files hold no stacks"));
    let launches = Launches::new(Bytes::default(), &about).until(stop.clone()).with(launch);
    if launches.typical().is_none() {
        return Err(stopped().into());
    }
    let findings = report::findings_until(&launches, &about, &stop);
    let mut findings = findings.ok_or_else(stopped)?;
    findings.tables.splice(0..0, tables);
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

/// Gives the system calls of another architecture this machine's numbers.
fn translate_calls(recorded: &mut Recorded) -> Option<String> {
    let architecture = recorded.architecture.as_ref().filter(|name| !is_native(name))?;
    match translate(&mut recorded.trace, architecture) {
        Some(0) => None,
        Some(removed) => Some(format!(
            "left out system calls of {architecture} that this machine does not have: {removed}"
        )),
        None => Some(format!(
            "system calls were recorded on {architecture} and are not known here: waits for \
             locks, messages and children are those for another thread"
        )),
    }
}

fn wanted(args: &FileArgs, thread: Option<&str>, recorded: &Recorded) -> ChoiceOptions {
    // A process has a longer name than its threads.
    let by_name = |name: &String| {
        let mut processes = recorded.processes.named(name);
        let only = processes.next().filter(|_| processes.next().is_none());
        only.map_or_else(|| name.clone(), |process| process.to_string())
    };
    ChoiceOptions {
        process: args.process.as_ref().map(by_name),
        thread: thread.map(str::to_owned),
        from: args.since,
        to: args.until,
    }
}

/// The thread and window that a recording was made for; `None` for a recording of a whole machine.
fn own(annex: &Annex) -> Option<choose::OwnRecording> {
    let [from, to] = annex.window.map(Timestamp::from_nanos);
    let thread = ThreadId(annex.thread);
    let first = if annex.first == 0 { thread } else { ThreadId(annex.first) };
    (annex.thread != 0).then_some(choose::OwnRecording { thread, first, window: (from, to) })
}
