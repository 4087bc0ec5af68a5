//! Runs a command to its end, and passes signals on to it.

use std::ffi::OsString;
use std::io;
use std::os::unix::process::ExitStatusExt as _;
use std::process::{Command, ExitStatus};

use anyhow::{Context as _, Result};
use signal_hook::consts::{SIGCHLD, SIGHUP, SIGINT, SIGQUIT, SIGTERM};
use signal_hook::iterator;
use unjank_host::{Error, process, terminal};

/// The signals that ask for an end.
const STOP: [i32; 4] = [SIGHUP, SIGINT, SIGQUIT, SIGTERM];

/// The signals that come to this process, from now on without ending it.
#[derive(Debug)]
pub(super) struct Signals(iterator::Signals);

/// How it ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum End {
    /// With an exit code.
    Code(u8),
    /// By a signal; or none was begun, because the signal came first.
    Signal(i32),
}

impl Signals {
    /// Listens.
    pub(super) fn listen() -> io::Result<Self> {
        iterator::Signals::new(STOP.into_iter().chain([SIGCHLD])).map(Self)
    }

    /// The signal that asked for an end before the command has begun.
    pub(super) fn stop_requested(&mut self) -> Option<i32> {
        self.0.pending().find(|signal| STOP.contains(signal))
    }
}

impl End {
    /// As shells do.
    pub(super) fn code(self) -> u8 {
        match self {
            Self::Code(code) => code,
            Self::Signal(signal) => u8::try_from(signal).map_or(u8::MAX, |n| n.saturating_add(128)),
        }
    }
}

impl From<ExitStatus> for End {
    fn from(status: ExitStatus) -> Self {
        let code = status.code().map(|code| Self::Code(u8::try_from(code).unwrap_or(u8::MAX)));
        code.unwrap_or_else(|| Self::Signal(status.signal().unwrap_or(i32::MAX)))
    }
}

/// Runs `command` until it ends.
pub(super) fn run(command: &[OsString], signals: &mut Signals) -> Result<End> {
    let [program, arguments @ ..] = command else { return Ok(End::Code(0)) };
    if let Some(signal) = signals.stop_requested() {
        return Ok(End::Signal(signal));
    }
    let mut child = Command::new(program)
        .args(arguments)
        .spawn()
        .map_err(|source| not_started(program, source))?;
    loop {
        let arrived: Vec<i32> = signals.0.wait().filter(|signal| STOP.contains(signal)).collect();
        if let Some(status) = child.try_wait().context("while waiting for the command")? {
            return Ok(status.into());
        }
        for signal in arrived.into_iter().filter(|&signal| !has_it_already(signal)) {
            // It has not been waited for, so the number is still its own.
            process::send_signal(child.id(), signal)?;
        }
    }
}

fn not_started(program: &OsString, source: io::Error) -> Error {
    match source.kind() {
        io::ErrorKind::NotFound => {
            Error::Invalid(format!("there is no command {}", program.display()))
        }
        _ => Error::file("start", program, source),
    }
}

/// Ctrl-C and Ctrl-\ go from the terminal to all of its foreground; many
/// programs take a second one as the wish to end without tidying up.
fn has_it_already(signal: i32) -> bool {
    matches!(signal, SIGINT | SIGQUIT) && terminal::is_in_foreground()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ends_have_the_codes_that_shells_give_them() {
        assert_eq!(End::from(ExitStatus::from_raw(7 << 8)).code(), 7);
        assert_eq!(End::from(ExitStatus::from_raw(9)).code(), 137);
        assert_eq!(End::Signal(SIGINT).code(), 130);
        assert_eq!(End::Signal(i32::MAX).code(), 255);
    }
}
