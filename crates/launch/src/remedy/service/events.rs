//! Reads the sources of events: the kernel, and Android's lists and log.

use std::os::fd::OwnedFd;

use unjank_host::process::connector::{ProcConnector, ProcessEvent};
use unjank_host::{Result, Timestamp};

use super::Service;
use crate::remedy::report::Note;
use crate::remedy::sources::{Foreground, LogEvent};

/// The size of a read from the log.
const PIECE: usize = 4 << 10;

/// The sources of events.
#[derive(Debug, Default)]
pub struct Sources {
    /// Exec events. Every one wakes the service.
    pub exec: Option<ProcConnector>,
    /// Fork and exit events, received while something is boosted. They are read
    /// when processes are checked anyway.
    pub family: Option<ProcConnector>,
    /// Processes that come to the foreground.
    pub foreground: Option<Foreground>,
    /// The system's log: the reading end of a non-blocking pipe.
    pub log: Option<OwnedFd>,
}

impl Service {
    pub(super) fn read_events(&mut self) -> Result<()> {
        let Some(mut events) = self.sources.exec.take() else { return Ok(()) };
        let read = events.read(|event| self.event(event));
        self.sources.exec = Some(events);
        self.count_overruns();
        read.map(drop)
    }

    /// Reads forks and exits of followed processes since the last check.
    pub(super) fn read_family(&mut self) {
        if !self.receives_family {
            return;
        }
        let Some(mut events) = self.sources.family.take() else { return };
        while let Ok(true) = events.read(|event| self.event(event)) {}
        self.sources.family = Some(events);
        self.count_overruns();
    }

    fn event(&mut self, event: ProcessEvent) {
        match event {
            // Programs that began before the service, such as its keeper, are too
            // late to be boosted.
            ProcessEvent::Exec { at, .. } if at < self.begun => {}
            ProcessEvent::Exec { process, at } => self.exec(process, at),
            ProcessEvent::Fork { parent, child, .. } => self.engine.forked(parent, child),
            ProcessEvent::Exit { process, .. } => {
                if self.engine.follows(process) {
                    let now = Timestamp::now();
                    let over = self.engine.exited(process, now);
                    self.note_ended(over, now);
                }
            }
        }
    }

    fn count_overruns(&mut self) {
        let sources = [&self.sources.exec, &self.sources.family];
        let lost = sources.into_iter().flatten().map(ProcConnector::lost).sum();
        if lost > self.counts.overruns {
            self.counts.overruns = lost;
            self.note(Note::Overrun(lost));
        }
    }

    pub(super) fn read_foreground(&mut self) {
        let Some(mut foreground) = self.sources.foreground.take() else { return };
        let read = foreground.read(|process, at| {
            if let Some(program) = self.program(process) {
                self.announced(process, &program, at);
            }
        });
        match read {
            Ok(()) => self.sources.foreground = Some(foreground),
            Err(error) => {
                self.note(Note::Lost { knob: "top-app".to_owned(), reason: error.to_string() });
            }
        }
    }

    pub(super) fn read_log(&mut self) {
        let Some(log) = &self.sources.log else { return };
        let mut piece = [0; PIECE];
        let length = match unjank_host::wait::read_some(log, &mut piece) {
            Ok(Some(0)) | Err(_) => {
                self.sources.log = None;
                let reason = "the system's log has ended".to_owned();
                return self.note(Note::Lost { knob: "logcat".to_owned(), reason });
            }
            Ok(None) => return,
            Ok(Some(length)) => length,
        };
        let mut lines = std::mem::take(&mut self.log);
        lines.take(&piece[..length], |event| {
            let now = Timestamp::now();
            match event {
                LogEvent::Started { process, package } => self.announced(process, &package, now),
                LogEvent::Displayed { package } => {
                    let over = self.engine.displayed(&package, now);
                    self.note_ended(over, now);
                }
            }
        });
        self.log = lines;
    }
}
