//! What the service hears: events of the kernel, and what Android tells.

use std::os::fd::OwnedFd;

use unjank_host::process::connector::{ProcConnector, ProcessEvent};
use unjank_host::{Result, Timestamp};

use super::Service;
use crate::remedy::report::Note;
use crate::remedy::sources::{Front, LogEvent};

/// What is read of the log at once.
const PIECE: usize = 4 << 10;

/// Where launches are seen.
#[derive(Debug, Default)]
pub struct Sources {
    /// Programs that begin to run. Every event wakes the service.
    pub exec: Option<ProcConnector>,
    /// Processes that are made and that end, listened to while something is
    /// boosted. They are read when processes are looked at anyway.
    pub family: Option<ProcConnector>,
    /// Processes that come to the front.
    pub front: Option<Front>,
    /// The system's log: the reading end of a pipe that does not block.
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

    /// What has become of the processes that are followed, since the last look.
    pub(super) fn read_family(&mut self) {
        if !self.hears_family {
            return;
        }
        let Some(mut events) = self.sources.family.take() else { return };
        while let Ok(true) = events.read(|event| self.event(event)) {}
        self.sources.family = Some(events);
        self.count_overruns();
    }

    fn event(&mut self, event: ProcessEvent) {
        match event {
            // What began before the service was there, its keeper for one, is
            // too late to be boosted.
            ProcessEvent::Exec { at, .. } if at < self.begun => {}
            ProcessEvent::Exec { process, at } => self.exec(process, at),
            ProcessEvent::Fork { parent, child, .. } => self.engine.forked(parent, child),
            ProcessEvent::Exit { process, .. } => {
                if self.engine.follows(process) {
                    let now = Timestamp::now();
                    let over = self.engine.exited(process, now);
                    self.tell_over(over, now);
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

    pub(super) fn read_front(&mut self) {
        let Some(mut front) = self.sources.front.take() else { return };
        let read = front.read(|process, at| {
            if let Some(program) = self.program(process) {
                self.announced(process, &program, at);
            }
        });
        match read {
            Ok(()) => self.sources.front = Some(front),
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
                    self.tell_over(over, now);
                }
            }
        });
        self.log = lines;
    }
}
