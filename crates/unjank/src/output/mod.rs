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

/// The style for the terminal on stdout.
pub(crate) fn terminal_style() -> TerminalStyle {
    TerminalStyle { width: width(), colour: wants_colour(), all: false }
}

fn wants_colour() -> bool {
    is_coloured(|name| env::var(name).ok(), io::stdout().is_terminal())
}

/// Whether text is coloured, by the variables that programs share: <https://no-color.org>,
/// <https://bixense.com/clicolors>.
fn is_coloured(variable: impl Fn(&str) -> Option<String>, is_terminal: bool) -> bool {
    let is = |name, value: &str| variable(name).is_some_and(|it| it == value);
    let is_set = |name| variable(name).is_some_and(|it| !it.is_empty());
    if is_set("NO_COLOR") {
        return false;
    }
    let forced = is_set("CLICOLOR_FORCE") && !is("CLICOLOR_FORCE", "0");
    forced || is_terminal && !is("CLICOLOR", "0") && !is("TERM", "dumb")
}

#[cfg(test)]
mod tests {
    use super::is_coloured;

    fn coloured(variables: &[(&str, &str)], is_terminal: bool) -> bool {
        let value = |name: &str| variables.iter().find(|(is, _)| *is == name).map(|it| it.1.into());
        is_coloured(value, is_terminal)
    }

    #[test]
    fn a_terminal_is_coloured_unless_a_variable_forbids_it() {
        assert!(coloured(&[], true));
        for variable in [("NO_COLOR", "1"), ("CLICOLOR", "0"), ("TERM", "dumb")] {
            assert!(!coloured(&[variable], true), "{variable:?}");
        }
        assert!(coloured(&[("NO_COLOR", ""), ("CLICOLOR", "1")], true));
    }

    #[test]
    fn a_file_is_coloured_only_by_force() {
        assert!(!coloured(&[], false));
        assert!(!coloured(&[("CLICOLOR_FORCE", "0")], false));
        assert!(coloured(&[("CLICOLOR_FORCE", "1")], false));
        assert!(!coloured(&[("CLICOLOR_FORCE", "1"), ("NO_COLOR", "1")], false));
    }
}
