//! What the command prints: data on stdout, talk on stderr.

mod page;
mod progress;

pub(crate) use page::Page;
pub(crate) use progress::Progress;

use std::env;
use std::io::{self, IsTerminal as _, Write as _};

use unjank_report::TerminalStyle;

/// Writes `text` and a line end to stdout.
pub(crate) fn print(text: &str) -> io::Result<()> {
    let mut stdout = io::stdout().lock();
    stdout.write_all(text.as_bytes())?;
    if !text.ends_with('\n') {
        stdout.write_all(b"\n")?;
    }
    stdout.flush()
}

/// Writes a remark and a line end to stderr.
pub(crate) fn remark(text: &str) {
    // If stderr is gone, there is nobody left to tell.
    let _nobody_listens = writeln!(io::stderr(), "{text}");
}

/// Columns that are used where nobody says how many there are.
const USUAL_WIDTH: usize = 100;

/// The width of the terminal on stdout, and colour if it wants any
/// (<https://no-color.org>).
pub(crate) fn terminal_style() -> TerminalStyle {
    let stdout = io::stdout();
    let colour = stdout.is_terminal()
        && env::var_os("NO_COLOR").is_none_or(|value| value.is_empty())
        && env::var_os("TERM").is_none_or(|term| term != "dumb");
    let columns = env::var("COLUMNS").ok().and_then(|columns| columns.parse().ok());
    let width = unjank_host::terminal::width(&stdout).or(columns).unwrap_or(USUAL_WIDTH);
    TerminalStyle { width, colour }
}
