//! Runs a command to its end, and passes signals on to it.

use std::ffi::OsString;
use std::io::{self, Read as _};
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::net::UnixStream;
use std::os::unix::process::ExitStatusExt as _;
use std::process::{Child, Command, ExitStatus};

use anyhow::{Context as _, Result};
use signal_hook::consts::{SIGCHLD, SIGHUP, SIGINT, SIGQUIT, SIGTERM};
use signal_hook::iterator;
use signal_hook::low_level::pipe;
use unjank_host::{Error, process, terminal};

/// The signals that ask for an end.
const STOP: [i32; 4] = [SIGHUP, SIGINT, SIGQUIT, SIGTERM];

/// The signals that come to this process, from now on without ending it.
#[derive(Debug)]
pub(crate) struct Signals(iterator::Signals);

/// How it ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum End {
    /// With an exit code.
    Code(u8),
    /// By a signal; or none was begun, because the signal came first.
    Signal(i32),
}

impl Signals {
    /// Listens.
    pub(crate) fn listen() -> io::Result<Self> {
        iterator::Signals::new(STOP.into_iter().chain([SIGCHLD])).map(Self)
    }

    /// The signal that asked for an end before the command has begun.
    pub(crate) fn stop_requested(&mut self) -> Option<i32> {
        self.0.pending().find(|signal| STOP.contains(signal))
    }
}

impl End {
    /// As shells do.
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

/// A command that has been started and not waited for.
#[derive(Debug)]
pub(crate) struct Running(Child);

impl Running {
    /// Starts `command`, unless a signal has come first: then that is the end.
    pub(crate) fn start(command: &[OsString], signals: &mut Signals) -> Result<Result<Self, End>> {
        let [program, arguments @ ..] = command else { return Ok(Err(End::Code(0))) };
        if let Some(signal) = signals.stop_requested() {
            return Ok(Err(End::Signal(signal)));
        }
        let child = Command::new(program).args(arguments).spawn();
        Ok(Ok(Self(child.map_err(|source| not_started(program, source))?)))
    }

    /// Its process number.
    pub(crate) fn id(&self) -> u32 {
        self.0.id()
    }

    /// Passes on the signals that have come, and says how it has ended if it has.
    pub(crate) fn attend(&mut self, signals: &mut Signals) -> Result<Option<End>> {
        let arrived = signals.0.pending().filter(|signal| STOP.contains(signal)).collect();
        self.pass_on(arrived)
    }

    /// Waits for its end, and passes signals on until then.
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
            // It has not been waited for, so the number is still its own.
            process::send_signal(self.0.id(), signal)?;
        }
        Ok(None)
    }
}

/// Can be read after one of the [`Signals`] has come, for those who wait for
/// other things as well.
#[derive(Debug)]
pub(crate) struct Bell(UnixStream);

impl Bell {
    /// Listens.
    pub(crate) fn new() -> io::Result<Self> {
        let (ours, theirs) = UnixStream::pair()?;
        ours.set_nonblocking(true)?;
        for signal in STOP.into_iter().chain([SIGCHLD]) {
            pipe::register(signal, theirs.try_clone()?)?;
        }
        Ok(Self(ours))
    }

    /// Forgets the signals that have come.
    pub(crate) fn quiet(&self) {
        // It does not wait, and what cannot be read does not ring.
        while matches!((&self.0).read(&mut [0; 64]), Ok(64)) {}
    }
}

impl AsFd for Bell {
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
