//! The end of a recording: a time, a size, a command, or Ctrl-C.

use std::ffi::OsString;
use std::process::Stdio;

use anyhow::{Context as _, Result};
use unjank_host::{Nanos, Timestamp};
use unjank_measure::Monitor as _;

use crate::commands::with::child::{self, Running, Signals};
use crate::exit;
use crate::interrupt::Interrupt;
use crate::output::Progress;

/// When a recording ends, and with which exit code.
pub(super) struct End {
    length: Option<Nanos>,
    is_full: bool,
    way: Way,
}

enum Way {
    /// Ctrl-C ends it; a bar shows the progress.
    Alone { progress: Progress, was_interrupted: bool },
    /// The end of a command, which gets the signals.
    Command { signals: Signals, running: Option<Running>, ended: Option<child::End> },
}

impl End {
    /// Handles signals from now on.
    pub(super) fn listen(length: Option<Nanos>, has_command: bool) -> Result<Self> {
        let way = if has_command {
            let signals = Signals::listen().context("while listening for signals")?;
            Way::Command { signals, running: None, ended: None }
        } else {
            let interrupt = Interrupt::listen().context("while listening for signals")?;
            Way::Alone { progress: Progress::new("record", interrupt), was_interrupted: false }
        };
        Ok(Self { length, is_full: false, way })
    }

    /// Starts the command.
    pub(super) fn start(&mut self, command: &[OsString], stdout: Stdio) -> Result<()> {
        let Way::Command { signals, running, ended } = &mut self.way else { return Ok(()) };
        match Running::start_writing_to(stdout, command, signals)? {
            Ok(started) => *running = Some(started),
            Err(end) => *ended = Some(end),
        }
        Ok(())
    }

    /// Whether the recording ends now. `said` is shown beside the bar.
    pub(super) fn has_come(&mut self, recorded: Nanos, is_full: bool, said: &str) -> bool {
        self.is_full = is_full;
        let in_time = self.length.is_some_and(|length| recorded >= length);
        let is_asked = match &mut self.way {
            Way::Alone { progress, was_interrupted } => {
                let of_all = |length: Nanos| recorded.as_secs_f64() / length.as_secs_f64();
                progress.progress(self.length.map_or(0.0, of_all), said);
                *was_interrupted = !in_time && progress.stop_requested();
                *was_interrupted
            }
            Way::Command { signals, running, ended } => {
                if let Some(running) = running {
                    // A signal that cannot be sent is lost, and the recording goes on.
                    *ended = running.attend(signals).ok().flatten();
                }
                ended.is_some()
            }
        };
        in_time || is_full || is_asked
    }

    /// Sleeps until this moment, or until the time is over.
    pub(super) fn sleep_until(&self, moment: Timestamp, recorded: Nanos) {
        let rest =
            self.length.map(|length| Timestamp::now() + Nanos(length.0 - recorded.0.min(length.0)));
        rest.map_or(moment, |rest| rest.min(moment)).sleep_until();
    }

    /// Removes the bar.
    pub(super) fn clear(&self) {
        if let Way::Alone { progress, .. } = &self.way {
            progress.clear();
        }
    }

    /// Whether the trace had its largest size.
    pub(super) fn is_full(&self) -> bool {
        self.is_full
    }

    /// The exit code. Waits for the end of the command.
    pub(super) fn code(self) -> Result<u8> {
        match self.way {
            Way::Alone { was_interrupted, .. } => {
                let early = was_interrupted && self.length.is_some();
                Ok(if early { exit::INTERRUPTED } else { exit::FINE })
            }
            Way::Command { ended: Some(end), .. } => Ok(end.code()),
            Way::Command { mut signals, running: Some(mut running), .. } => {
                Ok(running.wait(&mut signals)?.code())
            }
            Way::Command { .. } => Ok(exit::FINE),
        }
    }
}
