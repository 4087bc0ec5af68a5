//! Runs a command until it ends, and forwards signals to it.

use std::ffi::OsString;
use std::io::{self, Read as _};
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::net::UnixStream;
use std::os::unix::process::ExitStatusExt as _;
use std::process::{Child, Command, ExitStatus, Stdio};

use anyhow::{Context as _, Result};
use signal_hook::consts::{SIGCHLD, SIGHUP, SIGINT, SIGQUIT, SIGTERM};
use signal_hook::iterator;
use signal_hook::low_level::pipe;
use unjank_host::process::{self, with_signals_blocked};
use unjank_host::{Error, terminal};

/// The signals that ask a program to end.
const STOP: [i32; 4] = [SIGHUP, SIGINT, SIGQUIT, SIGTERM];

/// Receives the signals of this process, which no longer end it.
#[derive(Debug)]
pub(crate) struct Signals(iterator::Signals);

/// How the command ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum End {
    /// With an exit code.
    Code(u8),
    /// By a signal; or the command was not started because of this signal.
    Signal(i32),
}

impl Signals {
    /// Installs the handlers.
    pub(crate) fn listen() -> io::Result<Self> {
        let signals = STOP.into_iter().chain([SIGCHLD]);
        with_signals_blocked(&STOP, || iterator::Signals::new(signals)).map(Self)
    }

    /// A pending signal that asks for an end.
    pub(crate) fn stop_requested(&mut self) -> Option<i32> {
        self.0.pending().find(|signal| STOP.contains(signal))
    }
}

impl End {
    /// The exit code, as shells compute it.
    pub(crate) fn code(self) -> u8 {
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

/// A command that has been started and not reaped.
#[derive(Debug)]
pub(crate) struct Running(Child);

impl Running {
    /// Starts `command`, unless a signal has arrived before.
    pub(crate) fn start(command: &[OsString], signals: &mut Signals) -> Result<Result<Self, End>> {
        Self::start_writing_to(Stdio::inherit(), command, signals)
    }

    /// As `start`, with this standard output.
    pub(crate) fn start_writing_to(
        stdout: Stdio,
        command: &[OsString],
        signals: &mut Signals,
    ) -> Result<Result<Self, End>> {
        let [program, arguments @ ..] = command else { return Ok(Err(End::Code(0))) };
        if let Some(signal) = signals.stop_requested() {
            return Ok(Err(End::Signal(signal)));
        }
        let child = Command::new(program).args(arguments).stdout(stdout).spawn();
        Ok(Ok(Self(child.map_err(|source| not_started(program, source))?)))
    }

    pub(crate) fn id(&self) -> u32 {
        self.0.id()
    }

    /// Forwards the signals that have arrived. Returns how the command ended, if
    /// it has.
    pub(crate) fn attend(&mut self, signals: &mut Signals) -> Result<Option<End>> {
        let arrived = signals.0.pending().filter(|signal| STOP.contains(signal)).collect();
        self.pass_on(arrived)
    }

    /// Waits for its end, and forwards signals until then.
    pub(crate) fn wait(&mut self, signals: &mut Signals) -> Result<End> {
        if let Some(end) = self.attend(signals)? {
            return Ok(end);
        }
        loop {
            let arrived = signals.0.wait().filter(|signal| STOP.contains(signal)).collect();
            if let Some(end) = self.pass_on(arrived)? {
                return Ok(end);
            }
        }
    }

    fn pass_on(&mut self, arrived: Vec<i32>) -> Result<Option<End>> {
        if let Some(status) = self.0.try_wait().context("while waiting for the command")? {
            return Ok(Some(status.into()));
        }
        for signal in arrived.into_iter().filter(|&signal| !has_it_already(signal)) {
            // It has not been reaped, so the number is still its own.
            process::send_signal(self.0.id(), signal)?;
        }
        Ok(None)
    }
}

/// Becomes readable when one of the [`Signals`] arrives, for loops that also wait
/// for other things.
#[derive(Debug)]
pub(crate) struct SignalPipe(UnixStream);

impl SignalPipe {
    /// Registers it with the signals.
    pub(crate) fn new() -> io::Result<Self> {
        let (ours, theirs) = UnixStream::pair()?;
        ours.set_nonblocking(true)?;
        with_signals_blocked(&STOP, || {
            for signal in STOP.into_iter().chain([SIGCHLD]) {
                pipe::register(signal, theirs.try_clone()?)?;
            }
            Ok(Self(ours))
        })
    }

    /// Clears it.
    pub(crate) fn drain(&self) {
        // Non-blocking; the data does not matter.
        while matches!((&self.0).read(&mut [0; 64]), Ok(64)) {}
    }
}

impl AsFd for SignalPipe {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}

/// Runs `command` until it ends.
pub(crate) fn run(command: &[OsString], signals: &mut Signals) -> Result<End> {
    match Running::start(command, signals)? {
        Ok(mut running) => running.wait(signals),
        Err(end) => Ok(end),
    }
}

fn not_started(program: &OsString, source: io::Error) -> Error {
    match source.kind() {
        io::ErrorKind::NotFound => {
            Error::Invalid(format!("command not found: {}", program.display()))
        }
        _ => Error::file("start", program, source),
    }
}

/// Whether the command has got `signal` from the terminal, which sends Ctrl-C and
/// Ctrl-\ to its whole foreground group. On a second one, many programs end
/// without cleaning up.
fn has_it_already(signal: i32) -> bool {
    matches!(signal, SIGINT | SIGQUIT) && terminal::is_in_foreground()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn exit_codes_are_those_of_shells() {
        assert_eq!(End::from(ExitStatus::from_raw(7 << 8)).code(), 7);
        assert_eq!(End::from(ExitStatus::from_raw(9)).code(), 137);
        assert_eq!(End::Signal(SIGINT).code(), 130);
        assert_eq!(End::Signal(i32::MAX).code(), 255);
    }
}
