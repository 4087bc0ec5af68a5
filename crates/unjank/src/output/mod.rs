//! What the command prints: data on stdout, talk on stderr.
//!
//! Names of threads, files, control groups and labels come from others. Where
//! they are put into a line, a cell or a document, and once more where the text
//! leaves this program, what would steer a terminal or begin another line is
//! written as an escape (`unjank_report::one_line`).

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
use unjank_report::TerminalStyle;

/// Writes `text` and a line end to stdout. A reader that has seen enough and
/// closed the pipe (`unjank … | head`) is not an error.
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
    /// Talk.
    Stderr,
}

impl Stream {
    /// Passes on what another program has written, at once and as it is. A
    /// reader that is gone is not an error.
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

/// Writes a remark, which is one line, and a line end to stderr.
pub(crate) fn remark(text: &str) {
    talk(&unjank_report::one_line(text));
}

/// The same for a remark of several lines.
pub(crate) fn remark_lines(text: &str) {
    talk(&unjank_report::lines(text));
}

fn talk(text: &str) {
    // If stderr is gone, there is nobody left to tell.
    let _nobody_listens = writeln!(io::stderr(), "{text}");
}

/// Columns that are used where nobody says how many there are.
const USUAL_WIDTH: usize = 100;

/// Columns of the terminal on stdout.
pub(crate) fn width() -> usize {
    let columns = || env::var("COLUMNS").ok()?.parse().ok();
    unjank_host::terminal::width(io::stdout()).or_else(columns).unwrap_or(USUAL_WIDTH)
}

/// How the terminal on stdout is written to: in colour if it wants any
/// (<https://no-color.org>).
pub(crate) fn terminal_style() -> TerminalStyle {
    TerminalStyle { width: width(), colour: wants_colour(), all: false }
}

fn wants_colour() -> bool {
    io::stdout().is_terminal()
        && env::var_os("NO_COLOR").is_none_or(|value| value.is_empty())
        && env::var_os("TERM").is_none_or(|term| term != "dumb")
}
