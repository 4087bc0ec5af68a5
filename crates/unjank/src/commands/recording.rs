//! Recordings in files: options of the commands that read them, and the reading.

use std::collections::BTreeSet;
use std::io;
use std::path::{Path, PathBuf};

use anyhow::Result;
use unjank_host::files::open_untrusted;
use unjank_host::input::{Input, Stop, Stopped};
use unjank_host::sched::ThreadId;
use unjank_host::tracefs::trace_file::{self, NamedTimes, Recorded};
use unjank_host::tracefs::{Moment, Roster, SearchError};
use unjank_host::{Error, Timestamp};
use unjank_measure::Findings;

use super::measured::Settings;
use crate::interrupt;
use crate::values;

/// A recording, and the part of it that counts.
#[derive(Debug, clap::Args)]
pub(super) struct RecordingArgs {
    /// A trace of Perfetto, trace-cmd's trace.dat, or ftrace's text with flags; - is stdin
    #[arg(value_name = "FILE")]
    file: PathBuf,
    /// Beginning of the window: seconds of the trace, or +TIME after its first event
    #[arg(long, value_name = "TIME", value_parser = moment)]
    since: Option<Moment>,
    /// End of the window
    #[arg(long, value_name = "TIME", value_parser = moment)]
    until: Option<Moment>,
    /// Only this process, by its name or number
    #[arg(long, value_name = "NAME|PID")]
    process: Option<String>,
}

/// A recording that was read.
pub(super) struct Opened {
    /// The file.
    pub(super) recorded: Recorded,
    /// The names and the processes of its threads.
    pub(super) roster: Roster,
    /// The first and the last moment that count.
    pub(super) window: (Timestamp, Timestamp),
    /// The threads of the chosen process; `None` for all.
    pub(super) only: Option<BTreeSet<ThreadId>>,
    /// The command that explains the recording; `None` if it came from stdin.
    pub(super) why: Option<String>,
    /// Asks to end.
    pub(super) stop: Stop,
}

impl RecordingArgs {
    /// Adds the options to the settings of a run.
    pub(super) fn add_to(&self, settings: Settings) -> Settings {
        let nanos = |moment: Option<Moment>| {
            moment.map(|moment| match moment {
                Moment::At(at) => format!("{} ns", at.as_nanos()),
                Moment::After(time) => format!("+{} ns", time.get()),
            })
        };
        settings
            .with("file", self.file.display().to_string())
            .with("since", nanos(self.since))
            .with("until", nanos(self.until))
            .with("process", self.process.clone())
    }

    /// Reads the recording and searches it. What the reader has noted becomes warnings.
    ///
    /// # Errors
    /// It cannot be read, has nothing in the window, or lacks what is searched for.
    pub(super) fn search(
        &self,
        find: impl FnOnce(&Opened) -> Result<Findings, SearchError>,
    ) -> Result<Findings> {
        let mut opened = self.open()?;
        let mut findings = find(&opened).map_err(|why| self.without(why))?;
        for note in std::mem::take(&mut opened.recorded.notes) {
            findings.warn(note);
        }
        Ok(findings)
    }

    fn open(&self) -> Result<Opened> {
        let recorded = read(&self.file, NamedTimes::Skip)?;
        let stop = interrupt::stop();
        let window = recorded.trace.window(self.since, self.until);
        let window = window.map_err(|what| self.lacks(what))?;
        let roster = Roster::of(&recorded.trace, &recorded.processes, &stop);
        let roster = roster.map_err(|Stopped| self.stopped())?;
        let only = self.process.as_ref().map(|process| roster.of_process(process)).transpose();
        let only = only.map_err(|what| self.lacks(what))?;
        Ok(Opened { recorded, roster, window, only, why: self.why(), stop })
    }

    /// The error that the recording lacks something.
    fn lacks(&self, what: impl std::fmt::Display) -> Error {
        Error::Invalid(format!("{}: {what}", self.file.display()))
    }

    /// The error of a search without a result.
    fn without(&self, why: SearchError) -> Error {
        match why {
            SearchError::Lacks(what) => self.lacks(what),
            SearchError::Stopped => self.stopped(),
        }
    }

    /// The error after a stop request.
    fn stopped(&self) -> Error {
        failed(&self.file, io::Error::other(Stopped))
    }

    fn why(&self) -> Option<String> {
        let file = self.file.to_str().filter(|file| *file != "-")?;
        Some(format!("unjank why {}", shlex::try_quote(file).ok()?))
    }
}

/// Reads a recording, until a signal asks to end.
///
/// # Errors
/// The file, and what is wrong with it.
pub(super) fn read(file: &Path, named: NamedTimes) -> Result<Recorded> {
    let stop = interrupt::stop();
    let input = Input::named(file, &stop).map_err(|why| failed(file, why))?;
    read_input(file, input, named, &stop)
}

/// As [`read`], the recording of an incident. Its directory may belong to another user, so only a
/// regular file is read, and no link is followed.
///
/// # Errors
/// As `read`.
pub(super) fn read_kept(file: &Path, named: NamedTimes) -> Result<Recorded> {
    let stop = interrupt::stop();
    let opened = open_untrusted(file).map_err(Error::of_named_file)?;
    let input = Input::of(opened, &stop).map_err(|why| failed(file, why))?;
    read_input(file, input, named, &stop)
}

fn read_input(file: &Path, input: Input, named: NamedTimes, stop: &Stop) -> Result<Recorded> {
    Ok(trace_file::read_from(input, named, stop).map_err(|why| failed(file, why))?)
}

/// The error of a file that the user named.
pub(super) fn failed(file: &Path, why: io::Error) -> Error {
    Error::file("read", file, why).of_named_file()
}

/// Parses `38735.806062`, the time of an event, or `+250ms`.
pub(super) fn moment(text: &str) -> Result<Moment, String> {
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
