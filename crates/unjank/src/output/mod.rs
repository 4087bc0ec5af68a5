//! The output of the command: data on stdout, messages on stderr.
//!
//! Names of threads, files, control groups and labels come from other programs
//! and users. Characters that would control a terminal or begin another line are
//! escaped (`unjank_report::one_line`) where such a name is put into a line, a
//! cell or a document, and again where the text leaves this program.

mod grid;
mod lines;
mod page;
mod progress;

pub(crate) use grid::grid;
pub(crate) use lines::Lines;
pub(crate) use page::Page;
pub(crate) use progress::Progress;

use std::env;
use std::io::{self, IsTerminal as _, Write as _};

use anyhow::Context as _;
use serde::Serialize;
use unjank_measure::RunRecord;
use unjank_report::TerminalStyle;

/// Writes `text` and a line end to stdout. A reader that closes the pipe early
/// (`unjank … | head`) is not an error.
pub(crate) fn print(text: &str) -> anyhow::Result<()> {
    let text = if wants_colour() {
        unjank_report::coloured_lines(text)
    } else {
        unjank_report::lines(text)
    };
    let mut stdout = io::stdout().lock();
    let end: &[u8] = if text.ends_with('\n') { b"" } else { b"\n" };
    let written = stdout.write_all(text.as_bytes()).and_then(|()| stdout.write_all(end));
    match written.and_then(|()| stdout.flush()) {
        Err(error) if error.kind() != io::ErrorKind::BrokenPipe => {
            Err(error).context("while writing to stdout")
        }
        _ => Ok(()),
    }
}

/// Prints a record: its text on stdout, and its remarks on stderr.
pub(crate) fn report(record: &RunRecord, style: &TerminalStyle) -> anyhow::Result<()> {
    let printed = print(&unjank_report::terminal(record, style));
    remarks(record, style);
    printed
}

/// Writes to stderr what the text of a record has no place for.
pub(crate) fn remarks(record: &RunRecord, style: &TerminalStyle) {
    for text in unjank_report::remarks(record, style) {
        remark(&text);
    }
}

/// The result of writing a file. A reader of stdout that closes the pipe early is not an error.
pub(crate) fn unless_reader_left(written: unjank_host::Result<()>) -> anyhow::Result<()> {
    match written {
        Err(unjank_host::Error::File { source, .. })
            if source.kind() == io::ErrorKind::BrokenPipe =>
        {
            Ok(())
        }
        written => Ok(written?),
    }
}

/// A value as a JSON document.
pub(crate) fn json(value: &impl Serialize) -> anyhow::Result<String> {
    let text = serde_json::to_string_pretty(value).context("while writing JSON")?;
    Ok(unjank_report::json(&text).into_owned())
}

/// One of the two streams that a program writes to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Stream {
    /// Data.
    Stdout,
    /// Messages.
    Stderr,
}

impl Stream {
    /// Passes on another program's output, unchanged and unbuffered. A reader
    /// that is gone is not an error.
    pub(crate) fn pass_on(self, bytes: &[u8]) -> anyhow::Result<()> {
        let written = match self {
            Self::Stdout => {
                let mut stdout = io::stdout().lock();
                stdout.write_all(bytes).and_then(|()| stdout.flush())
            }
            Self::Stderr => io::stderr().write_all(bytes),
        };
        match written {
            Err(error) if error.kind() != io::ErrorKind::BrokenPipe => {
                Err(error).context("while passing on what a program printed")
            }
            _ => Ok(()),
        }
    }
}

/// Writes a message of one line to stderr.
pub(crate) fn remark(text: &str) {
    talk(&unjank_report::one_line(text));
}

/// Writes a message of several lines to stderr.
pub(crate) fn remark_lines(text: &str) {
    talk(&unjank_report::lines(text));
}

/// As [`remark`], unless stderr is full or stopped: then the message is lost.
pub(crate) fn remark_without_waiting(text: &str) {
    if unjank_host::wait::is_writable(io::stderr()) {
        remark(text);
    }
}

fn talk(text: &str) {
    // If stderr is gone, the message is lost.
    let _nobody_listens = writeln!(io::stderr(), "{text}");
}

/// The width in columns if it is unknown.
const USUAL_WIDTH: usize = 100;

/// The width of the terminal on stdout in columns.
pub(crate) fn width() -> usize {
    let columns = || env::var("COLUMNS").ok()?.parse().ok();
    unjank_host::terminal::width(io::stdout()).or_else(columns).unwrap_or(USUAL_WIDTH)
}

/// The style for the terminal on stdout, in colour unless that is turned off
/// (<https://no-color.org>).
pub(crate) fn terminal_style() -> TerminalStyle {
    TerminalStyle { width: width(), colour: wants_colour(), all: false }
}

fn wants_colour() -> bool {
    io::stdout().is_terminal()
        && env::var_os("NO_COLOR").is_none_or(|value| value.is_empty())
        && env::var_os("TERM").is_none_or(|term| term != "dumb")
}
